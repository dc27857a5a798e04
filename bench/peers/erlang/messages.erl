%% messages.erl - W1 to W4 and W10: processes that exist already and only talk.
-module(messages).
-export([pingpong/2, ring/3, fanin/2, big/2]).

rate(Count, Begin) -> #{figure => Count * 1.0e9 / (bench:now_ns() - Begin)}.

%% ---- W1, W2, W2k

pingpong(Pairs, Messages) ->
    Rounds = Messages div Pairs div 2,
    Judge = self(),
    Pings = [spawn_link(fun() -> ping(Judge, Rounds) end) || _ <- lists:seq(1, Pairs)],
    Begin = bench:now_ns(),
    [Ping ! go || Ping <- Pings],
    Balls = lists:sum([receive {done, Ping, Got} -> Got end || Ping <- Pings]),
    Result = rate(2 * Balls, Begin),
    bench:check(Balls, Rounds * Pairs),
    Result.

ping(Judge, Rounds) ->
    Ping = self(),
    Pong = spawn_link(fun() -> pong(Ping) end),
    receive go -> ok end,
    Got = serve(Pong, Rounds, 0),
    unlink(Pong),
    exit(Pong, kill),
    Judge ! {done, self(), Got}.

serve(_, 0, Got) -> Got;
serve(Pong, Left, Got) ->
    Pong ! Left,
    receive Left -> serve(Pong, Left - 1, Got + 1) end.

pong(Ping) ->
    receive Ball -> Ping ! Ball end,
    pong(Ping).

%% ---- W3

ring(Actors, Tokens, Hops) ->
    Judge = self(),
    Nodes = [spawn_link(fun() -> receive {next, Next} -> node(Next, Judge, 0) end end)
             || _ <- lists:seq(1, Actors)],
    [Node ! {next, Next} || {Node, Next} <- lists:zip(Nodes, tl(Nodes) ++ [hd(Nodes)])],
    Each = Hops div Tokens,
    Entries = [lists:nth((I * Actors) div Tokens + 1, Nodes) || I <- lists:seq(0, Tokens - 1)],
    Begin = bench:now_ns(),
    [Entry ! Each || Entry <- Entries],
    [receive done -> ok end || _ <- Entries],
    Result = rate(Each * Tokens, Begin),
    [Node ! stop || Node <- Nodes],
    bench:check(lists:sum([receive {hops, Count} -> Count end || _ <- Nodes]), Each * Tokens),
    Result.

node(Next, Judge, Count) ->
    receive
        1 -> Judge ! done, node(Next, Judge, Count + 1);
        Left when is_integer(Left) -> Next ! Left - 1, node(Next, Judge, Count + 1);
        stop -> Judge ! {hops, Count}
    end.

%% ---- W4

fanin(Producers, Messages) ->
    Judge = self(),
    Total = Producers * Messages,
    Consumer = spawn_opt(fun() -> consume(Total, 0, Judge) end,
                         [link, {message_queue_data, off_heap}]),
    Sources = [spawn_link(fun() -> receive go -> produce(Consumer, I, Messages) end end)
               || I <- lists:seq(1, Producers)],
    Begin = bench:now_ns(),
    [Source ! go || Source <- Sources],
    Sum = receive {sum, Got} -> Got end,
    Result = rate(Total, Begin),
    bench:check(Sum, Messages * Producers * (Producers + 1) div 2),
    Result.

produce(_, _, 0) -> ok;
produce(Consumer, Item, Left) ->
    Consumer ! Item,
    produce(Consumer, Item, Left - 1).

consume(0, Sum, Judge) -> Judge ! {sum, Sum};
consume(Left, Sum, Judge) -> receive Item -> consume(Left - 1, Sum + Item, Judge) end.

%% ---- W10

big(Actors, Pings) ->
    Judge = self(),
    All = [spawn_link(fun() -> big_start(Pings, I, Judge) end)
           || I <- lists:seq(1, Actors)],
    Others = list_to_tuple(All),
    [Actor ! {all, others(Others, I)} || {I, Actor} <- lists:enumerate(All)],
    Begin = bench:now_ns(),
    [Actor ! go || Actor <- All],
    [receive done -> ok end || _ <- All],
    Result = rate(2 * Actors * Pings, Begin),
    [Actor ! stop || Actor <- All],
    bench:check(lists:sum([receive {served, Count} -> Count end || _ <- All]), Actors * Pings),
    Result.

others(All, Index) -> erlang:delete_element(Index, All).

big_start(Pings, Seed, Judge) ->
    Others = receive {all, All} -> All end,
    receive go -> ok end,
    big_ping(Others, Pings, Seed * 7919, 0, Judge).

%% A linear congruence in small integers: rand would cost more than a message.
big_ping(Others, Left, Seed, Served, Judge) ->
    Next = (Seed * 1103515245 + 12345) band 16#7fffffff,
    element((Next bsr 8) rem tuple_size(Others) + 1, Others) ! {ping, self()},
    big_loop(Others, Left, Next, Served, Judge).

big_loop(Others, Left, Seed, Served, Judge) ->
    receive
        {ping, From} -> From ! pong, big_loop(Others, Left, Seed, Served + 1, Judge);
        pong when Left > 1 -> big_ping(Others, Left - 1, Seed, Served, Judge);
        pong -> Judge ! done, big_loop(Others, 0, Seed, Served, Judge);
        stop -> Judge ! {served, Served}
    end.
