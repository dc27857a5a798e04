%% restart.erl - W8 and W9: a failure, its supervisor, and the next message.
%%
%% The victim is a gen_server under a supervisor. A failure takes the mailbox with it, so what
%% waits for the new instance is queued by its init. The clock is read before the failing call
%% and as the first thing in the handling of that message. Samples go to an array of atomics: no
%% other process runs.
-module(restart).
-behaviour(gen_server).
-export([hot/1, bare/1, elixir/1, paced/1, loaded/4, siblings/2, parent/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).
-export([victim_start/1, child_start/1, children_start/1]).

-record(probe, {mode, count, judge, marks, samples}).

%% marks: 1 the clock at the failure, 2 samples so far, 3 children ready
probe(Mode, Count) ->
    #probe{mode = Mode, count = Count, judge = self(), marks = atomics:new(3, []),
           samples = atomics:new(Count, [])}.

%% Does what the handling of the next message is to do; true if there is more to come.
sampled(#probe{count = Count, judge = Judge, marks = Marks, samples = Samples}, Now) ->
    case atomics:get(Marks, 1) of
        0 -> true;
        Failed ->
            Index = atomics:add_get(Marks, 2, 1),
            Index =< Count andalso atomics:put(Samples, Index, Now - Failed),
            Index =:= Count andalso (Judge ! done),
            Index < Count
    end.

samples(#probe{marks = Marks, samples = Samples, count = Count}) ->
    Got = min(Count, atomics:get(Marks, 2)),
    [atomics:get(Samples, I) || I <- lists:seq(1, Got)].

fail(#probe{marks = Marks}) ->
    atomics:put(Marks, 1, bench:now_ns()),
    exit(failed).

%% ---- the processes

init({supervisor, Strategy, Specs}) ->
    process_flag(priority, persistent_term:get(priority, normal)),
    {ok, {#{strategy => Strategy, intensity => 10000000, period => 1}, Specs}};
init({victim, Probe}) ->
    self() ! next,
    {ok, Probe};
init({child, Probe}) ->
    Ready = atomics:add_get(Probe#probe.marks, 3, 1),
    Ready rem Probe#probe.count =:= 0 andalso (Probe#probe.judge ! {ready, bench:now_ns()}),
    {ok, Probe}.

handle_info(next, Probe) ->
    Now = bench:now_ns(),
    sampled(Probe, Now) andalso Probe#probe.mode =:= hot andalso (self() ! fail),
    {noreply, Probe};
handle_info(fail, Probe) ->
    fail(Probe).

handle_call(_, _, State) -> {reply, ok, State}.
handle_cast(_, State) -> {noreply, State}.

victim_start(Probe) ->
    Priority = persistent_term:get(priority, normal),
    gen_server:start_link({local, victim}, ?MODULE, {victim, Probe},
                          [{spawn_opt, [{priority, Priority}]}]).
child_start(Probe) -> gen_server:start_link(?MODULE, {child, Probe}, []).
children_start(Probe) -> supervise(one_for_one, child_specs(Probe)).

child_specs(Probe) ->
    [#{id => I, start => {?MODULE, child_start, [Probe]}, shutdown => brutal_kill}
     || I <- lists:seq(1, Probe#probe.count)].

supervise(Strategy, Specs) ->
    supervisor:start_link(?MODULE, {supervisor, Strategy, Specs}).

top(Function, Probe, Type) ->
    {ok, Top} = supervise(one_for_one, [#{id => only, start => {?MODULE, Function, [Probe]},
                                          type => Type}]),
    Top.

%% The failing processes are linked to a supervisor, and that to us.
down(Top) ->
    unlink(Top),
    Monitor = monitor(process, Top),
    exit(Top, shutdown),
    receive {'DOWN', Monitor, process, Top, _} -> ok end.

%% ---- W8a

hot(Count) -> hot(Count, fun(Probe) -> top(victim_start, Probe, worker) end).

%% Elixir's supervisor is OTP's; its DynamicSupervisor is its own.
elixir(Count) ->
    hot(Count, fun(Probe) ->
        {ok, Top} = 'Elixir.DynamicSupervisor':start_link(
            [{strategy, one_for_one}, {max_restarts, 10000000}, {max_seconds, 1}]),
        {ok, _} = 'Elixir.DynamicSupervisor':start_child(
            Top, #{id => only, start => {?MODULE, victim_start, [Probe]}}),
        Top
    end).

hot(Count, Start) ->
    Probe = probe(hot, Count),
    Begin = bench:now_ns(),
    Top = Start(Probe),
    receive done -> ok end,
    Time = bench:now_ns() - Begin,
    down(Top),
    Samples = samples(Probe),
    bench:check(length(Samples), Count),
    (bench:latencies(Samples))#{figure => Count * 1.0e9 / Time}.

bare(Count) ->
    Probe = probe(hot, Count),
    Begin = bench:now_ns(),
    bare_supervise(Probe, Count),
    Time = bench:now_ns() - Begin,
    Samples = samples(Probe),
    bench:check(length(Samples), Count),
    (bench:latencies(Samples))#{figure => Count * 1.0e9 / Time}.

bare_supervise(_, -1) -> receive done -> ok end;
bare_supervise(Probe, Left) ->
    {Pid, Monitor} = spawn_monitor(fun() -> bare_victim(Probe) end),
    Pid ! next,
    Pid ! fail,
    receive {'DOWN', Monitor, process, Pid, _} -> bare_supervise(Probe, Left - 1) end.

bare_victim(Probe) ->
    receive next -> sampled(Probe, bench:now_ns()) end,
    receive fail -> fail(Probe) end.

%% ---- W8b, W8c

paced(Count) ->
    Probe = probe(paced, Count),
    Top = top(victim_start, Probe, worker),
    pace(Probe, erlang:monotonic_time(millisecond) + 20, infinity),
    down(Top),
    Samples = samples(Probe),
    bench:check(length(Samples), Count),
    Tails = bench:latencies(Samples),
    Tails#{figure => maps:get(p50_ns, Tails)}.

%% Tells the victim to fail once a millisecond, and only when the last restart is over; until
%% the end, and a few times at least.
pace(#probe{count = Count, marks = Marks} = Probe, Due, End) ->
    erlang:send_after(Due, self(), tick, [{abs, true}]),
    receive tick -> ok end,
    Taken = atomics:get(Marks, 2),
    Victim = whereis(victim),
    if
        Taken >= Count -> receive done -> ok end;
        Due > End, Taken >= 5 -> ok;
        Victim =:= undefined -> pace(Probe, Due + 1, End);
        true ->
            Victim ! fail,
            pace_wait(Marks, Taken, End),
            pace(Probe, max(Due + 1, erlang:monotonic_time(millisecond)), End)
    end.

pace_wait(Marks, Taken, End) ->
    % any time is before infinity
    Late = erlang:monotonic_time(millisecond) > End andalso Taken >= 5,
    case atomics:get(Marks, 2) of
        Taken when not Late -> receive after 1 -> pace_wait(Marks, Taken, End) end;
        _ -> ok
    end.

%% The priority is the supervisor's and the victim's.
loaded(Count, Burners, Ms, Priority) ->
    Probe = probe(paced, Count),
    Loops = bench:burn_loops(1000),
    persistent_term:put(priority, Priority),
    Top = top(victim_start, Probe, worker),
    process_flag(priority, high), % the pacer stands for the outside
    Load = [spawn_link(fun() -> burner(Loops) end) || _ <- lists:seq(1, Burners)],
    [Burner ! burn || Burner <- Load],
    Start = erlang:monotonic_time(millisecond),
    pace(Probe, Start + 100, Start + Ms),
    [begin unlink(Burner), exit(Burner, kill) end || Burner <- Load],
    down(Top),
    persistent_term:put(priority, normal),
    Tails = bench:latencies(samples(Probe)),
    Tails#{figure => maps:get(p50_ns, Tails)}.

burner(Loops) ->
    receive burn -> bench:burn(Loops) end,
    self() ! burn,
    burner(Loops).

%% ---- W9

siblings(Children, Rounds) ->
    Probe = probe(children, Children),
    {ok, Top} = supervise(one_for_all, child_specs(Probe)),
    receive {ready, _} -> ok end,
    Times = [begin
                 [{_, Victim, _, _} | _] = supervisor:which_children(Top),
                 generation(Victim)
             end || _ <- lists:seq(1, Rounds)],
    generations(Top, Probe, Times).

parent(Children, Rounds) ->
    Probe = probe(children, Children),
    Top = top(children_start, Probe, supervisor),
    receive {ready, _} -> ok end,
    Times = [begin
                 [{_, Parent, _, _}] = supervisor:which_children(Top),
                 generation(Parent)
             end || _ <- lists:seq(1, Rounds)],
    generations(Top, Probe, Times).

generation(Victim) ->
    Begin = bench:now_ns(),
    exit(Victim, kill),
    receive {ready, End} -> End - Begin end.

generations(Top, Probe, Times) ->
    down(Top),
    bench:check(atomics:get(Probe#probe.marks, 3), Probe#probe.count * (length(Times) + 1)),
    Tails = bench:latencies(Times),
    Tails#{figure => maps:get(p50_ns, Tails)}.
