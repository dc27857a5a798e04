%% port.erl - a crash of a program behind an Erlang port: from the line that it crashes at to the first
%% answer of the next one, which a supervisor's gen_server has opened.
%%
%%   erl -noshell -pa FOLDER -run port main PROGRAM ROUNDS
-module(port).
-behaviour(supervisor).
-export([main/1, init/1]).
-export([start_link/1, handle_call/3, handle_cast/2, handle_info/2]).

main([Program, Rounds]) ->
    logger:set_primary_config(level, none),
    Count = list_to_integer(Rounds),
    {ok, Supervisor} = supervisor:start_link(?MODULE, {supervisor, Program}),
    _ = [crash_once(N) || N <- lists:seq(1, Count div 10)],
    Took = lists:sort([crash_once(N) || N <- lists:seq(1, Count)]),
    io:format("{\"bench\": \"crash\", \"server\": \"erlang-port\", \"crashes\": ~b, \"unit\": \"ns\", "
              "\"median\": ~b, \"min\": ~b, \"p99\": ~b, \"max\": ~b}~n",
              [Count, lists:nth(Count div 2 + 1, Took), hd(Took),
               lists:nth(Count * 99 div 100 + 1, Took), lists:last(Took)]),
    unlink(Supervisor),
    exit(Supervisor, shutdown),
    halt().

crash_once(N) ->
    Line = integer_to_binary(N),
    Line = answer(Line),
    Old = whereis(holder),
    Begin = erlang:monotonic_time(nanosecond),
    gen_server:cast(holder, crash),
    Line = answer_of_next(Line, Old),
    erlang:monotonic_time(nanosecond) - Begin.

%% Who asks in between is told that there is nobody, and asks again.
answer_of_next(Line, Old) ->
    case whereis(holder) of
        Old -> erlang:yield(), answer_of_next(Line, Old);
        undefined -> erlang:yield(), answer_of_next(Line, Old);
        _ -> answer(Line)
    end.

answer(Line) ->
    try gen_server:call(holder, {ask, Line}, 60000) catch exit:{noproc, _} -> answer(Line) end.

%% ---- the supervisor, which is allowed any number of restarts, and its child

start_link(Program) -> gen_server:start_link({local, holder}, ?MODULE, {holder, Program}, []).

init({supervisor, Program}) ->
    Child = #{id => holder, start => {?MODULE, start_link, [Program]}},
    {ok, {#{intensity => 1000000, period => 1}, [Child]}};
init({holder, Program}) ->
    Port = open_port({spawn_executable, Program},
                     [{packet, 1}, {args, ["port"]}, exit_status, binary]),
    {ok, {Port, queue:new()}}.

handle_call({ask, Line}, From, {Port, Waiting}) ->
    port_command(Port, Line),
    {noreply, {Port, queue:in(From, Waiting)}}.

handle_cast(crash, {Port, _} = State) ->
    port_command(Port, <<"null">>),
    {noreply, State}.

handle_info({Port, {data, Line}}, {Port, Waiting}) ->
    {{value, From}, Left} = queue:out(Waiting),
    gen_server:reply(From, Line),
    {noreply, {Port, Left}};
handle_info({Port, {exit_status, Status}}, {Port, _} = State) ->
    {stop, {crashed, Status}, State}.
