%% actors.erl - W5 to W7: processes come, go, and do nothing.
-module(actors).
-export([skynet/1, churn/1, idle/1, idle_loop/1]).

%% ---- W5

skynet(Leaves) ->
    Judge = self(),
    Size = power_of_ten(Leaves),
    Begin = bench:now_ns(),
    spawn_link(fun() -> skynet_node(Judge, 0, Size) end),
    Sum = receive Got -> Got end,
    Time = bench:now_ns() - Begin,
    bench:check(Sum, Size * (Size - 1) div 2),
    #{figure => Time}.

power_of_ten(Size) when Size < 10 -> 1;
power_of_ten(Size) -> 10 * power_of_ten(Size div 10).

skynet_node(Parent, Number, 1) -> Parent ! Number;
skynet_node(Parent, Number, Size) ->
    Part = Size div 10,
    Self = self(),
    skynet_spawn(Self, Number, Part, 10),
    Parent ! skynet_sum(10, 0).

skynet_spawn(_, _, _, 0) -> ok;
skynet_spawn(Self, Number, Part, Left) ->
    spawn(fun() -> skynet_node(Self, Number, Part) end),
    skynet_spawn(Self, Number + Part, Part, Left - 1).

skynet_sum(0, Sum) -> Sum;
skynet_sum(Left, Sum) -> receive Part -> skynet_sum(Left - 1, Sum + Part) end.

%% ---- W6

churn(Actors) ->
    Judge = self(),
    Sum = atomics:new(1, []),
    Want = Actors * (Actors + 1) div 2,
    Begin = bench:now_ns(),
    churn(Actors, Sum, Want, Judge),
    receive done -> ok end,
    Time = bench:now_ns() - Begin,
    bench:check(atomics:get(Sum, 1), Want),
    #{figure => Actors * 1.0e9 / Time}.

churn(0, _, _, _) -> ok;
churn(Left, Sum, Want, Judge) ->
    spawn(fun() -> mayfly(Sum, Want, Judge) end) ! Left,
    churn(Left - 1, Sum, Want, Judge).

mayfly(Sum, Want, Judge) ->
    receive
        Number ->
            case atomics:add_get(Sum, 1, Number) of
                Want -> Judge ! done;
                _ -> ok
            end
    end.

%% ---- W7

idle(Actors) ->
    Before = bench:rss_bytes(),
    Ready = atomics:new(1, []),
    All = [spawn(fun() -> atomics:add(Ready, 1, 1), erlang:hibernate(?MODULE, idle_loop, [I]) end)
           || I <- lists:seq(1, Actors)],
    idle_wait(Ready, Actors),
    receive after 200 -> ok end, % the last are on their way to sleep
    After = bench:rss_bytes(),
    Judge = self(),
    [Actor ! {stop, Judge} || Actor <- All],
    bench:check(idle_sum(Actors, 0), Actors * (Actors + 1) div 2),
    #{figure => (After - Before - 2 * 8 * Actors) / Actors}. % without the list of them all

idle_loop(State) -> receive {stop, Judge} -> Judge ! State end.

idle_wait(Ready, Actors) ->
    case atomics:get(Ready, 1) of
        Actors -> ok;
        _ -> receive after 10 -> idle_wait(Ready, Actors) end
    end.

idle_sum(0, Sum) -> Sum;
idle_sum(Left, Sum) -> receive State -> idle_sum(Left - 1, Sum + State) end.
