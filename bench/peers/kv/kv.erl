%% kv.erl - S1 in Erlang: a process a connection, the keys in an ETS table that all may write.
%%
%%   erl -noshell +S N -s kv start      prints "listening at 127.0.0.1:PORT"; SIGTERM ends it
%%
%% PING, SET, GET, CONFIG. Answers of one piece of input are written together.
-module(kv).
-export([start/0, accept/1, serve/1]).

start() ->
    ets:new(keys, [named_table, public, set, {read_concurrency, true}, {write_concurrency, true}]),
    {ok, Listener} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}, {nodelay, true},
                                        {backlog, 4096}, {packet, raw}, {reuseaddr, true}]),
    {ok, Port} = inet:port(Listener),
    io:format("listening at 127.0.0.1:~b~n", [Port]),
    [spawn(?MODULE, accept, [Listener]) || _ <- lists:seq(1, 4)],
    receive never -> ok end.

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(?MODULE, serve, [Socket]),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener).

serve(Socket) ->
    receive go -> ok end,
    loop(Socket, <<>>).

loop(Socket, Rest) ->
    ok = inet:setopts(Socket, [{active, once}]),
    receive
        {tcp, Socket, Data} ->
            {Answers, Left} = requests(join(Rest, Data), []),
            case Answers of
                [] -> ok;
                _ -> ok = gen_tcp:send(Socket, lists:reverse(Answers))
            end,
            loop(Socket, Left);
        {tcp_closed, Socket} -> ok;
        {tcp_error, Socket, _} -> ok
    end.

join(<<>>, Data) -> Data;
join(Rest, Data) -> <<Rest/binary, Data/binary>>.

requests(<<>>, Answers) -> {Answers, <<>>};
requests(Input, Answers) ->
    case request(Input) of
        part -> {Answers, Input};
        {Words, Left} -> requests(Left, [answer(Words) | Answers])
    end.

request(<<"*", Input/binary>>) ->
    case number(Input, 0) of
        part -> part;
        {Count, Left} -> words(Count, Left, [])
    end;
request(Input) ->
    case binary:split(Input, <<"\r\n">>) of
        [Line, Left] -> {binary:split(Line, <<" ">>, [global, trim_all]), Left};
        _ -> part
    end.

words(0, Left, Words) -> {lists:reverse(Words), Left};
words(Count, <<"$", Input/binary>>, Words) ->
    case number(Input, 0) of
        {Size, Left} ->
            case Left of
                <<Word:Size/binary, "\r\n", After/binary>> -> words(Count - 1, After, [Word | Words]);
                _ -> part
            end;
        part -> part
    end;
words(_, <<>>, _) -> part.

number(<<"\r\n", Left/binary>>, N) -> {N, Left};
number(<<D, Left/binary>>, N) when D >= $0, D =< $9 -> number(Left, N * 10 + D - $0);
number(_, _) -> part.

answer([Name | Words]) -> command(upper(Name), Words);
answer([]) -> [].

upper(<<"GET">> = Name) -> Name;
upper(<<"SET">> = Name) -> Name;
upper(Name) -> list_to_binary(string:uppercase(binary_to_list(Name))).

command(<<"GET">>, [Key | _]) ->
    case ets:lookup(keys, Key) of
        [{_, Value}] -> [<<"$">>, integer_to_binary(byte_size(Value)), <<"\r\n">>, Value, <<"\r\n">>];
        [] -> <<"$-1\r\n">>
    end;
command(<<"SET">>, [Key, Value | _]) ->
    ets:insert(keys, {binary:copy(Key), binary:copy(Value)}),
    <<"+OK\r\n">>;
command(<<"PING">>, _) -> <<"+PONG\r\n">>;
command(_, _) -> <<"*0\r\n">>.
