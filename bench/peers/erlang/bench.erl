%% bench.erl - the workloads on Erlang/OTP: options, repeats, one JSON line a result.
%%
%% Started by run.sh. Each workload runs once to warm up and then --repeats times, each run in a
%% process of its own; W7 has no run before it, because the emulator keeps memory it once had.
-module(bench).
-export([main/0, now_ns/0, latencies/1, check/2, burn/1, burn_loops/1, rss_bytes/0]).

main() ->
    Options = options(init:get_plain_arguments(),
                      #{only => all, workers => erlang:system_info(schedulers_online),
                        repeats => 5, divide => 1}),
    try
        [measure(Work, Options) || {Name, _, _, _} = Work <- works(), wanted(Name, Options)],
        halt(0)
    catch Class:Reason:Stack ->
        io:format(standard_error, "peer erlang: ~p:~p~n~p~n", [Class, Reason, Stack]),
        halt(1)
    end.

options([], Options) -> Options;
options(["--only", Names | Rest], Options) ->
    options(Rest, Options#{only := string:tokens(Names, ",")});
options([[$-, $- | Name], Value | Rest], Options) ->
    options(Rest, maps:update(list_to_existing_atom(Name), list_to_integer(Value), Options)).

wanted(_, #{only := all}) -> true;
wanted(Name, #{only := Names}) -> lists:member(hd(string:tokens(Name, "-")), Names).

%% {name, unit, note, run(size divisor)}
works() ->
    [{"W1", "messages/s", "", fun(D) -> messages:pingpong(1, 3000000 div D) end},
     {"W2", "messages/s", "", fun(D) -> messages:pingpong(8, 3000000 div D) end},
     {"W2k", "messages/s", "", fun(D) -> messages:pingpong(1000, 3000000 div D) end},
     {"W3a", "hops/s", "", fun(D) -> messages:ring(100, 1, 3000000 div D) end},
     {"W3b", "hops/s", "", fun(D) -> messages:ring(1000, 100, 3000000 div D) end},
     {"W4", "messages/s", "consumer's queue off heap",
      fun(D) -> messages:fanin(4, 1000000 div D) end},
     {"W5", "ns", "", fun(D) -> actors:skynet(1000000 div D) end},
     {"W6", "actors/s", "", fun(D) -> actors:churn(1000000 div D) end},
     {"W7", "bytes/actor", "hibernated",
      fun(D) -> actors:idle(1000000 div D) end},
     {"W8a", "restarts/s", "supervisor, gen_server; init queues the next message: a restart "
      "loses the mailbox; it looks through the restarts of the last second",
      fun(D) -> restart:hot(10000 div D) end},
     {"W8a-bare", "restarts/s", "spawn_monitor and respawn, no supervisor",
      fun(D) -> restart:bare(200000 div D) end},
     {"W8a-elixir", "restarts/s", "as Erlang's, under Elixir's DynamicSupervisor",
      fun(D) -> restart:elixir(10000 div D) end},
     {"W8b", "ns", "supervisor, gen_server; a timer of 1 ms",
      fun(D) -> restart:paced(1000 div D) end},
     {"W8c", "ns", "supervisor, gen_server, both at high priority; what 2 s allow",
      fun(D) -> restart:loaded(1000 div D, 10000 div D, 2000 div D, high) end},
     {"W8c-normal", "ns", "supervisor, gen_server at normal priority, as is the default",
      fun(D) -> restart:loaded(1000 div D, 10000 div D, 2000 div D, normal) end},
     {"W9a", "ns", "one_for_all of 1000 after one child failed: nothing survives here",
      fun(D) -> restart:siblings(1000, max(3, 20 div D)) end},
     {"W9b", "ns", "supervisor of 1000 gen_servers is killed, its supervisor restarts it",
      fun(D) -> restart:parent(1000, max(3, 20 div D)) end},
     {"W10", "messages/s", "", fun(D) -> messages:big(64, 24000 div D) end},
     {"W11", "burns/s", "", fun(D) -> fair:pings(64, 1000, 2000 div min(D, 10)) end},
     {"W12s", "ns", "enif_send from a thread of a NIF",
      fun(D) -> fair:send_cost(300000 div D) end},
     {"W12r", "ns", "enif_send from a thread of a NIF",
      fun(D) -> fair:send_running(10000 div D) end},
     {"W12p", "ns", "enif_send from a thread of a NIF",
      fun(D) -> fair:send_parked(1000 div D) end},
     {"W18k", "messages/s", "", fun(D) -> messages:pingpong(500, 4000000 div D) end},
     {"W18m", "messages/s", "", fun(D) -> messages:pingpong(500000 div D, 4000000 div D) end}].

measure({Name, Unit, Note, Run}, #{repeats := Repeats, divide := Divide, workers := Workers}) ->
    Count = case Name of "W7" -> 1; _ -> Repeats end,
    Name =:= "W7" orelse once(Run, Divide),
    Results = [once(Run, Divide) || _ <- lists:seq(1, Count)],
    Figures = lists:sort([maps:get(figure, R) || R <- Results]),
    Median = (lists:nth((Count + 1) div 2, Figures) + lists:nth(Count div 2 + 1, Figures)) / 2,
    Peak = lists:max([maps:get(peak, R) || R <- Results]),
    {Shown, Peer} = case string:tokens(Name, "-") of
        [Work, "elixir"] -> {Work, "elixir"};
        [Work, Other] -> {Work, "erlang-" ++ Other};
        [Work] -> {Work, "erlang"}
    end,
    io:format("{\"workload\":\"~s\",\"peer\":\"~s\",\"unit\":\"~s\",\"median\":~.3f,\"min\":~.3f,"
              "\"max\":~.3f,\"repeats\":~b,\"workers\":~b,\"peak_bytes\":~b,~s\"note\":\"~s\"}~n",
              [Shown, Peer, Unit, Median, float(hd(Figures)), float(lists:last(Figures)), Count,
               Workers, Peak, [tail(Key, Results) || Key <- [p50_ns, p99_ns, p999_ns, max_ns]],
               Note]).

%% The median over the runs of a percentile; nothing for a workload without latencies.
tail(Key, Results) ->
    case lists:sort([maps:get(Key, R) || R <- Results, maps:is_key(Key, R)]) of
        [] -> "";
        Values -> io_lib:format("\"~s\":~b,", [Key, lists:nth((length(Values) + 1) div 2, Values)])
    end.

once(Run, Divide) ->
    [erlang:garbage_collect(Pid) || Pid <- processes()],
    _ = file:write_file("/proc/self/clear_refs", "5"),
    {Pid, Monitor} = spawn_monitor(fun() -> exit({result, Run(Divide)}) end),
    receive
        {'DOWN', Monitor, process, Pid, {result, Result}} -> Result#{peak => status("VmHWM:")};
        {'DOWN', Monitor, process, Pid, Reason} -> error(Reason)
    end.

status(Key) ->
    {ok, Text} = file:open("/proc/self/status", [read]),
    KiB = status_line(Text, Key),
    ok = file:close(Text),
    KiB * 1024.

status_line(Text, Key) ->
    {ok, Line} = file:read_line(Text),
    case string:tokens(Line, " \t\n") of
        [Key, Number, "kB"] -> list_to_integer(Number);
        _ -> status_line(Text, Key)
    end.

rss_bytes() -> status("VmRSS:").

now_ns() -> erlang:monotonic_time(nanosecond).

check(Same, Same) -> ok;
check(Got, Want) -> error({wrong, Got, want, Want}).

latencies([]) -> error(no_samples);
latencies(Samples) ->
    Sorted = list_to_tuple(lists:sort(Samples)),
    Count = tuple_size(Sorted),
    At = fun(Share) -> element(max(1, ceil(Share * Count)), Sorted) end,
    #{p50_ns => At(0.5), p99_ns => At(0.99), p999_ns => At(0.999), max_ns => At(1.0)}.

%% Computes, without a pause of its own, for as long as burn_loops was told.
burn(0) -> ok;
burn(Loops) -> burn(Loops - 1).

burn_loops(Ns) ->
    Trial = 200000,
    Best = lists:min([begin
                          Begin = now_ns(),
                          burn(Trial),
                          now_ns() - Begin
                      end || _ <- lists:seq(1, 30)]),
    max(1, round(Ns * Trial / Best)).
