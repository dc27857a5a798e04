%% fair.erl - W11: pings beside processes that compute; W12: messages from a foreign thread.
-module(fair).
-export([pings/3, send_cost/1, send_running/1, send_parked/1]).
-on_load(load/0).

load() -> erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "foreign"), 0).

%% ---- W11

pings(Burners, Lights, Ms) ->
    Loops = bench:burn_loops(50000),
    Burned = counters:new(1, [write_concurrency]),
    Light = list_to_tuple([spawn_link(fun light/0) || _ <- lists:seq(1, Lights)]),
    Load = [spawn_link(fun() -> burner(Loops, Burned) end) || _ <- lists:seq(1, Burners)],
    [Burner ! burn || Burner <- Load],
    receive after 100 -> ok end,
    Before = counters:get(Burned, 1),
    Begin = bench:now_ns(),
    Samples = ping(Light, 0, Begin + Ms * 1000000, []),
    Time = bench:now_ns() - Begin,
    After = counters:get(Burned, 1),
    [begin unlink(Pid), exit(Pid, kill) end || Pid <- Load ++ tuple_to_list(Light)],
    (bench:latencies(Samples))#{figure => (After - Before) * 1.0e9 / Time}.

light() -> receive {ping, From, Number} -> From ! Number end, light().

burner(Loops, Burned) ->
    receive burn -> bench:burn(Loops) end,
    counters:add(Burned, 1, 1),
    self() ! burn,
    burner(Loops, Burned).

ping(Light, Number, End, Samples) ->
    Begin = bench:now_ns(),
    element(Number rem tuple_size(Light) + 1, Light) ! {ping, self(), Number},
    receive Number -> ok end,
    Now = bench:now_ns(),
    if
        Now > End -> Samples;
        true -> ping(Light, Number + 1, End, [Now - Begin | Samples])
    end.

%% ---- W12

foreign_send(_Pid, _Count) -> erlang:nif_error(not_loaded).
foreign_paced(_Pid, _Count, _PauseNs) -> erlang:nif_error(not_loaded).
foreign_handled() -> erlang:nif_error(not_loaded).

%% The thread sends all and says what it took; the messages are counted here.
send_cost(Count) ->
    ok = foreign_send(self(), Count),
    Took = receive {took, Ns} -> Ns end,
    bench:check(drain(Count, 0), Count * (Count - 1) div 2),
    #{figure => Took / Count}.

drain(0, Sum) -> Sum;
drain(Left, Sum) -> receive Number when is_integer(Number) -> drain(Left - 1, Sum + Number) end.

%% The next message is sent as soon as the last is handled.
send_running(Count) -> latency(Count, 0).

send_parked(Count) -> latency(Count, 1000000).

latency(Count, PauseNs) ->
    ok = foreign_paced(self(), Count, PauseNs),
    Tails = bench:latencies(arrivals(Count, [])),
    Tails#{figure => maps:get(p50_ns, Tails)}.

arrivals(0, Samples) -> Samples;
arrivals(Left, Samples) ->
    receive {sent, Sent} -> arrivals(Left - 1, [foreign_handled() - Sent | Samples]) end.
