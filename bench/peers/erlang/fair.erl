%% fair.erl - W11: pings beside processes that compute; W12: messages from a foreign thread.
-module(fair).
-export([pings/3, send_cost/1, send_running/1, send_parked/1]).
-on_load(load/0).

load() -> erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "foreign"), 0).

%% ---- W11

-define(PER_MS, 2). % pings

pings(Burners, Lights, Ms) ->
    Loops = bench:burn_loops(50000),
    Burned = counters:new(1, [write_concurrency]),
    Light = list_to_tuple([spawn_link(fun light/0) || _ <- lists:seq(1, Lights)]),
    Load = [spawn_link(fun() -> burner(Loops, Burned) end) || _ <- lists:seq(1, Burners)],
    [Burner ! burn || Burner <- Load],
    receive after 100 -> ok end,
    Before = counters:get(Burned, 1),
    Begin = bench:now_ns(),
    Samples = ticks(Light, 0, erlang:monotonic_time(millisecond) + 1, Ms, []),
    Time = bench:now_ns() - Begin,
    After = counters:get(Burned, 1),
    All = answers(?PER_MS * Ms - length(Samples), Samples),
    [begin unlink(Pid), exit(Pid, kill) end || Pid <- Load ++ tuple_to_list(Light)],
    (bench:latencies(All))#{figure => (After - Before) * 1.0e9 / Time}.

light() -> receive {ping, From, Sent} -> From ! {pong, Sent} end, light().

burner(Loops, Burned) ->
    receive burn -> bench:burn(Loops) end,
    counters:add(Burned, 1, 1),
    self() ! burn,
    burner(Loops, Burned).

%% Pings at the rate, whether the pings before have been answered or not.
ticks(_, _, _, 0, Samples) -> Samples;
ticks(Light, Number, Due, Left, Samples) ->
    erlang:send_after(Due, self(), tick, [{abs, true}]),
    Sofar = till_tick(Samples),
    [element((Number + I) rem tuple_size(Light) + 1, Light) ! {ping, self(), bench:now_ns()}
     || I <- lists:seq(1, ?PER_MS)],
    ticks(Light, Number + ?PER_MS, Due + 1, Left - 1, Sofar).

till_tick(Samples) ->
    receive
        {pong, Sent} -> till_tick([bench:now_ns() - Sent | Samples]);
        tick -> Samples
    end.

answers(0, Samples) -> Samples;
answers(Left, Samples) ->
    receive {pong, Sent} -> answers(Left - 1, [bench:now_ns() - Sent | Samples]) end.

%% ---- W12

-define(BURST, 1000).

foreign_send(_Pid, _Count, _Burst) -> erlang:nif_error(not_loaded).
foreign_paced(_Pid, _Count, _SleepNs, _GapNs) -> erlang:nif_error(not_loaded).
foreign_handled() -> erlang:nif_error(not_loaded).

%% The thread sends in bursts and says what they took; the wait for us after each is not in it.
send_cost(Count) ->
    busily(fun() ->
        ok = foreign_send(self(), Count, ?BURST),
        bench:check(drain(Count, 0), Count * (Count - 1) div 2),
        #{figure => receive {took, Ns} -> Ns / Count end}
    end).

drain(0, Sum) -> Sum;
drain(Left, Sum) ->
    receive
        Number when is_integer(Number) ->
            _ = foreign_handled(),
            drain(Left - 1, Sum + Number)
    end.

send_running(Count) -> busily(fun() -> latency(Count, 0, 5000) end).

send_parked(Count) -> latency(Count, 1000000, 0).

%% Beside a process a scheduler that sends to itself without end.
busily(Run) ->
    Busy = [spawn_link(fun() -> self() ! go, busy() end)
            || _ <- lists:seq(1, erlang:system_info(schedulers_online))],
    Result = Run(),
    [begin unlink(Pid), exit(Pid, kill) end || Pid <- Busy],
    Result.

busy() -> receive go -> self() ! go end, busy().

latency(Count, SleepNs, GapNs) ->
    ok = foreign_paced(self(), Count, SleepNs, GapNs),
    Tails = bench:latencies(arrivals(Count, [])),
    Tails#{figure => maps:get(p50_ns, Tails)}.

arrivals(0, Samples) -> Samples;
arrivals(Left, Samples) ->
    receive {sent, Sent} -> arrivals(Left - 1, [foreign_handled() - Sent | Samples]) end.
