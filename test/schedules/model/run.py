#!/usr/bin/env python3
# run.py - the Spin models: checks each, refutes its mutants, compares its stamps with the code.
#
#   run.py [--large] [--jobs n] [model...]   all forms and mutants; a table, then the bar
#   run.py --check [model...]                the stamps only
#   run.py --stamp model...                  renews the stamps, after a review
#   run.py --trail model form [mutant]       the steps that lead to the error
#   run.py --unreached [model...]            what no small form reaches
#   run.py --self-test                       that all of this can fail
#
# A model's first comment says what it is checked with, a line each:
#   form small NAME -D...    a run that must end without an error; large: in --large only
#   mutant NAME M_X words    with -DM_X the form NAME must end with an error
# Its comments name what they model as "function file", the file in runtime/ or tools/. A second comment has
# the stamps: "stamp file:function hash", of the function's text without comments and white space.
import argparse
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
NAMED = re.compile(r'\b([a-z][a-z0-9_]*) ([a-z]+/[a-z_0-9]+\.[ch])\b')
STAMP = re.compile(r'^ \* stamp (\S+):(\S+) ([0-9a-f]+)$', re.M)
COMMENT = re.compile(r'/\*.*?\*/', re.S)
MEGABYTES = {False: 4000, True: 11000}
SECONDS = {False: 200, True: 1500}


class Run:
    """One search: a form, or a form with a mutant."""

    def __init__(self, form, mutant=''):
        self.form, self.mutant = form, mutant
        self.states, self.seconds, self.good, self.said = 0, 0.0, False, ''


class Model:
    def __init__(self, name, folder=HERE):
        self.name = name
        self.path = os.path.join(folder, name + '.pml')
        with open(self.path) as file:
            self.text = file.read()
        header = COMMENT.search(self.text).group()
        self.forms, self.mutants, self.size = {}, [], {}
        for size, form, defs in re.findall(r'^ \* form (small|large) (\S+)(.*)$', header, re.M):
            self.forms[form + (':large' if size == 'large' else '')] = defs.split()
        for form, mutant in re.findall(r'^ \* mutant (\S+) (M_\w+)', header, re.M):
            self.mutants.append((form, mutant))
        if not self.forms or len(self.mutants) < 4:
            raise SystemExit(f'{name}: no forms, or less than four mutants')
        for form, mutant in self.mutants:
            if form not in self.forms:
                raise SystemExit(f'{name}: {mutant} is of a form that there is not: {form}')
            if not re.search(r'^#if.*\b' + mutant + r'\b', self.text, re.M):
                raise SystemExit(f'{name}: nothing asks for {mutant}')
        for mutant in set(re.findall(r'\bM_[A-Z_0-9]+\b', self.text)):
            if mutant not in [one for _, one in self.mutants]:
                raise SystemExit(f'{name}: {mutant} is not run')

    def runs(self, large):
        forms = [form for form in self.forms if large or not form.endswith(':large')]
        return [Run(form) for form in forms] + [Run(*mutant) for mutant in self.mutants]

    def named(self):
        """{(file, function): lines} of what the comments name."""
        found = {}
        for comment in COMMENT.finditer(self.text):
            if STAMP.search(comment.group()):
                continue
            flat = re.sub(r'\n \* ?', '\n   ', comment.group())
            for match in NAMED.finditer(re.sub(r'\s+', ' ', flat)):
                line = self.text.count('\n', 0, comment.start()) + 1
                found.setdefault((match.group(2), match.group(1)), []).append(line)
        return found


# ---- stamps

def function_text(root, file, function):
    """The definition, without comments and white space; None: there is none."""
    folder = next((one for one in ('runtime', 'tools') if os.path.isfile(os.path.join(root, one, file))), None)
    if folder is None:
        return None
    with open(os.path.join(root, folder, file)) as source:
        text = COMMENT.sub(' ', source.read())
    start = re.compile(r'^[a-z_](?:[^\n;{}()]|\(\([a-z, _]*\)\))*\b' + re.escape(function) + r'\([^;{}]*?\)\s*\{', re.M)
    match = start.search(text)
    if match is None:
        return None
    end = text.find('\n}', match.end())
    return re.sub(r'\s+', '', text[match.start():end + 2])


def stamp_of(root, file, function):
    text = function_text(root, file, function)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text is not None else None


def check_stamps(model, root=ROOT):
    """What is wrong with them, a line each."""
    stamps = {(file, function): stamp for file, function, stamp in STAMP.findall(model.text)}
    named = model.named()
    wrong = []
    for (file, function), lines in sorted(named.items()):
        where = ', '.join(f'{model.name}.pml:{line}' for line in lines)
        stamp = stamp_of(root, file, function)
        if stamp is None:
            wrong.append(f'{file}: {function} is gone; it is modelled at {where}')
        elif (file, function) not in stamps:
            wrong.append(f'{file}: {function} has no stamp; it is modelled at {where}')
        elif stamps[file, function] != stamp:
            wrong.append(f'{file}: {function} has changed; look at {where}')
    for file, function in sorted(set(stamps) - set(named)):
        wrong.append(f'{model.name}.pml: a stamp of {file}:{function}, which nothing names')
    if wrong:
        wrong.append(f'when the model is right again: make models-stamp MODEL={model.name}')
    return wrong


def renew_stamps(model, root=ROOT):
    lines = ['/* stamps: run.py --stamp writes them']
    for file, function in sorted(model.named()):
        stamp = stamp_of(root, file, function)
        if stamp is None:
            raise SystemExit(f'{model.name}: {file} has no {function}')
        lines.append(f' * stamp {file}:{function} {stamp}')
    block = '\n'.join(lines + [' */'])
    text = re.sub(r'/\* stamps:.*?\*/\n', '', model.text, flags=re.S)
    end = COMMENT.search(text).end()
    with open(model.path, 'w') as file:
        file.write(text[:end] + '\n' + block + text[end:])
    print(f'{model.name}: {len(lines) - 1} stamps')


# ---- searches

def call(command, folder, seconds=SECONDS[True]):
    """What it says, and its processor time; the code is negative if it took more than that."""
    with tempfile.TemporaryFile('w+') as said:
        child = subprocess.Popen(['prlimit', f'--cpu={seconds}', *command], cwd=folder,
                                 stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return child.returncode, said.read(), usage.ru_utime + usage.ru_stime


def build(model, run, folder):
    """Generates and compiles; what went wrong."""
    defs = model.forms[run.form] + (['-D' + run.mutant] if run.mutant else [])
    shutil.copy(model.path, folder)
    code, said, spent = call(['spin', '-a', *defs, os.path.basename(model.path)], folder)
    run.seconds += spent
    if code != 0 or 'Error' in said:
        return said
    large = run.form.endswith(':large') and not run.mutant
    compiler = [os.environ.get('CC', 'cc'), '-O2', '-DCOLLAPSE'] if large else ['tcc']
    code, said, spent = call([*compiler, '-w', '-DSAFETY', '-DNOFAIR', '-o', 'pan',
                              f'-DMEMLIM={MEGABYTES[large]}', 'pan.c'], folder)
    run.seconds += spent
    return said if code != 0 else ''


def search(model, run, large, folder):
    """Fills in the run's result; returns the output."""
    failure = build(model, run, folder)
    output = ''
    if not failure:
        code, output, spent = call(['./pan', '-m1000000'], folder, SECONDS[large])
        run.seconds += spent
        if code < 0:
            failure = f'ended by signal {-code} after {spent:.0f} s'
    if failure:
        run.said = failure.strip()
        return output
    states = re.search(r'([\d.e+]+) states, stored', output)
    run.states = int(float(states.group(1))) if states else 0
    errors = re.search(r'errors: (\d+)', output)
    cut = re.search(r'max search depth too small|out of memory|reached -DMEMLIM|aborting', output)
    found = re.search(r'^pan:\d+: (.*?)(?: \(at depth.*)?$', output, re.M)
    run.said = found.group(1) if found else ''
    if errors is None or (cut and not (run.mutant and errors.group(1) != '0')):
        run.said = cut.group() if cut else output.strip()
    elif run.mutant:
        real = re.match(r'assertion violated|invalid end state', run.said)
        run.good = errors.group(1) != '0' and bool(real)
        if errors.group(1) == '0':
            run.said = 'NOT REFUTED'
    else:
        run.good = errors.group(1) == '0' and 'Search not completed' not in output
    return output


def search_away(model, run, large):
    with tempfile.TemporaryDirectory(prefix='axo-model-') as folder:
        return search(model, run, large, folder)


def unreached(output):
    """Statements of the model that a search did not reach."""
    return set(re.findall(r'^\t(\S+\.pml:\d+), state \d+, ("(?!-end-).*")$', output, re.M))


# ---- commands

def run_all(models, large, jobs):
    tasks = [(model, run) for model in models for run in model.runs(large)]
    tasks.sort(key=lambda task: (bool(task[1].mutant), ':large' not in task[1].form))
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1 if large else jobs) as pool:
        waits = [pool.submit(search_away, model, run, large) for model, run in tasks]
        for wait in concurrent.futures.as_completed(waits):
            wait.result()
    print(f'{"model":12} {"form":18} {"mutant":22} {"states":>11} {"s":>6}  result')
    tasks.sort(key=lambda task: task[0].name)
    for model, run in tasks:
        result = ('refuted' if run.mutant else 'no error') if run.good else 'FAIL'
        print(f'{model.name:12} {run.form:18} {run.mutant:22} {run.states:11} {run.seconds:6.1f}  '
              f'{result}{": " + run.said[:60] if run.said else ""}')
    bad = [task for task in tasks if not task[1].good]
    mutants = [run for _, run in tasks if run.mutant]
    refuted = sum(run.good for run in mutants)
    largest = max(run.states for _, run in tasks)
    sound = sum(all(run.good for model, run in tasks if model is one) for one in models)
    print(f'{sum(run.seconds for _, run in tasks):.0f} s of one core, '
          f'{time.monotonic() - start:.0f} s in all')
    print(f'bar 11 is {sound} / {len(models) - sound} / {len(mutants) - refuted} / {largest}: models '
          f'without error, with one; of {len(mutants)} mutants not refuted; states of the largest')
    return not bad


def show_trail(name, form, mutant):
    model = Model(name)
    run = Run(form, mutant)
    with tempfile.TemporaryDirectory(prefix='axo-model-') as folder:
        print(search(model, run, form.endswith(':large'), folder))
        defs = model.forms[form] + (['-D' + mutant] if mutant else [])
        subprocess.run(['spin', '-t', '-p', '-g', '-l', *defs, name + '.pml'], cwd=folder,
                       check=False)


def show_unreached(models):
    for model in models:
        left = None
        for run in model.runs(False):
            if run.mutant:
                continue
            missed = unreached(search_away(model, run, False))
            left = missed if left is None else left & missed
        for place, text in sorted(left, key=lambda one: int(one[0].split(':')[1])):
            print(place, text)


# ---- self test

TINY = '''/* tiny.pml - two that count, for the self test.
 *
 * form small both
 * mutant both M_APART   read and write in two steps
 * mutant both M_TWICE   counts twice
 * mutant both M_NEVER   never counts
 * mutant both M_STUCK   waits for ever
 * mutant both M_NOTHING changes nothing: not refuted
 */
byte count, done;
/* axo__state_claim cell/state.h */
active [2] proctype Counter()
{
    byte seen;
#ifdef M_APART
    seen = count; count = seen + 1;
#else
    count++;
#endif
#ifdef M_TWICE
    count++;
#endif
#ifdef M_NEVER
    count--;
#endif
#ifdef M_STUCK
    false;
#endif
#ifdef M_NOTHING
    skip;
#endif
    done++
}
active proctype Monitor() { done == 2 -> assert(count == 2) }
'''


def expect(what, holds):
    print(f'  {"ok" if holds else "FAIL"}    {what}')
    return holds


def self_test_searches(folder):
    with open(os.path.join(folder, 'tiny.pml'), 'w') as file:
        file.write(TINY)
    model = Model('tiny', folder)
    runs = model.runs(False)
    for run in runs:
        search_away(model, run, False)
    good = {run.mutant: run.good for run in runs}
    wrong = {'': True, 'M_APART': True, 'M_TWICE': True, 'M_NEVER': True, 'M_STUCK': True,
             'M_NOTHING': False}
    holds = expect('mutants are refuted, one that changes nothing is not', good == wrong)
    model.forms['both'] = ['-DM_APART']
    base = Run('both')
    search_away(model, base, False)
    return expect('a form with an error fails', not base.good) and holds


def self_test_stamps(folder):
    copy = os.path.join(folder, 'runtime')
    shutil.copytree(os.path.join(ROOT, 'runtime'), copy)
    model = Model('tiny', folder)
    renew_stamps(model, folder)
    model = Model('tiny', folder)
    path = os.path.join(copy, 'cell/state.h')
    with open(path) as file:
        text = file.read()

    def wrong(changed):
        with open(path, 'w') as out:
            out.write(changed)
        return '\n'.join(check_stamps(model, folder))
    line = 'uint64_t taken = AXO__URGENT;'
    assert line in text
    holds = expect('the code as it is passes', wrong(text) == '')
    holds &= expect('a comment and white space pass',
                    wrong(text.replace(line, '/* all */  uint64_t  taken = AXO__URGENT;')) == '')
    said = wrong(text.replace(line, 'uint64_t taken = 0;'))
    holds &= expect('a changed function is told, and where it is modelled',
                    'axo__state_claim has changed; look at tiny.pml:' in said)
    holds &= expect('another function passes',
                    wrong(text.replace('count + 1', 'count + 2')) == '')
    said = wrong(text.replace('axo__state_claim(', 'axo__state_grab('))
    return holds & expect('a function that is gone is told', 'axo__state_claim is gone' in said)


def self_test():
    with tempfile.TemporaryDirectory(prefix='axo-model-') as folder:
        return self_test_searches(folder) & self_test_stamps(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--large', action='store_true')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--stamp', action='store_true')
    parser.add_argument('--trail', action='store_true')
    parser.add_argument('--unreached', action='store_true')
    parser.add_argument('--self-test', action='store_true')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('models', nargs='*')
    options = parser.parse_args()
    if options.self_test:
        return 0 if self_test() else 1
    if options.trail:
        return show_trail(options.models[0], options.models[1], ''.join(options.models[2:])) or 0
    every = sorted(name[:-4] for name in os.listdir(HERE) if name.endswith('.pml'))
    models = [Model(name) for name in options.models or every]
    if options.stamp:
        for model in models:
            renew_stamps(model)
        return 0
    wrong = [line for model in models for line in check_stamps(model)]
    print('\n'.join(wrong)) if wrong else None
    if options.check:
        return 1 if wrong else 0
    if options.unreached:
        show_unreached(models)
        return 0
    return 0 if run_all(models, options.large, options.jobs) and not wrong else 1


if __name__ == '__main__':
    sys.exit(main())
