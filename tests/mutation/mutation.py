#!/usr/bin/env python3
"""Breaks the protocol's decisions in every way that some rules know, and looks
who notices: the simulator, or else the unit tests.

A mutant that nobody notices is a hole in the proof, unless equivalent.txt says
why it changes nothing. The holes that are known, and have to be closed, are in
holes.txt. The exit code is 1 if there is another one, if one in that list is
closed, and if the simulator alone finds less than it should.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import time
import zlib

sys.dont_write_bytecode = True # The sources may be read-only.
import mutants

SWITCH = """// Chooses one mutant: ACTORRUN_MUTANT=n; 0 is none.
#pragma once
#include <cstdlib>
inline const int actorrun_chosen_mutant = [] {
  const char* text = std::getenv("ACTORRUN_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}();
inline bool actorrun_mutant(int n) { return actorrun_chosen_mutant == n; }
"""

# What only makes texts for people: that is for unit tests.
TEXTS = {'to_string', 'describe', 'waiting_for', 'counted', 'text', 'asked', 'nodes_asked',
         'admission'}

# Variables that hold a text for people, or what is only read for one. An assignment
# to one of them decides nothing.
TEXT_VARIABLES = {
    'reason', 'reason_',  # Of a generation or an outcome.
    'news',
    'now_',  # Of the rendezvous: for what it says that it waits for.
}
ASSIGNMENT = re.compile(r'no (?:\w+(?:\.|->))*(?P<name>\w+) = ')

ERROR = re.compile(r'^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error:', re.M)

MEMORY_MAX = 4 << 30
SIMULATOR_SHARE_MIN = 80  # Percent of what is not only text.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--source', type=pathlib.Path, required=True, help='the repository')
    parser.add_argument('--build', type=pathlib.Path, required=True, help='a folder for the mutants')
    parser.add_argument('--simulator', required=True, nargs='+', metavar='OBJECT',
                        help='what find_bug is linked of')
    parser.add_argument('--tests', required=True, nargs='+', metavar='OBJECT',
                        help='what core_tests is linked of')
    parser.add_argument('--folder', default='actors/core/protocol',
                        help='whose sources are broken')
    parser.add_argument('--files', nargs='+', default=['*'], metavar='NAME',
                        help='sources of this folder, without .cpp')
    parser.add_argument('--sample', type=int, default=0,
                        help='so many only, by the hashes of their names: the same ones until '
                             'their own lines change; the wording of texts is not judged')
    parser.add_argument('--only', default='', help='mutants whose name contains this')
    parser.add_argument('--seeds', type=int, default=3000, help='histories of the simulator')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--report', type=pathlib.Path,
                        help='a file for the table of all mutants; it grows during the run')
    parser.add_argument('--earlier', type=pathlib.Path,
                        help='the table of an earlier run over the same sources: what was noticed '
                             'then is not tried again')
    parser.add_argument('--trust', nargs='+', choices=['simulator', 'tests'],
                        default=['simulator', 'tests'],
                        help='whose findings in the earlier table count; with `simulator` alone, '
                             'what only tests noticed is tried again, perhaps with more --seeds')
    return parser.parse_args()


class Mutation:
    def __init__(self, options):
        self.options = options
        self.build = options.build
        self.compiler = shlex.split(os.environ.get('CXX', 'c++')) + [
            # What reads an empty `optional` must not pass by luck.
            '-D_GLIBCXX_ASSERTIONS', '-std=c++20', '-O1',
            *shlex.split(os.environ.get('CXXFLAGS', '')), '-w',
            '-I', str(options.source), '-include', str(self.build / 'mutant.hpp')]
        self.sources = {}
        self.keys = {}
        self.broken = 0  # Mutants that do not compile.

    # -- making ---------------------------------------------------------------

    def make(self):
        self.build.mkdir(parents=True, exist_ok=True)
        (self.build / 'mutant.hpp').write_text(SWITCH)
        number = 0
        folder = self.options.source / self.options.folder
        found = [path for name in self.options.files for path in folder.glob(f'{name}.cpp')]
        for path in sorted(found):
            name = str(path.relative_to(self.options.source))
            source = mutants.Source(name, path.read_text())
            if source.mutants:
                self.sources[name] = source
            for x in source.mutants:
                number += 1
                x.number = number
        self.keys = keys_of(self.sources.values())
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            objects = list(pool.map(self.compile, self.sources.values()))
        self.link('find_bug', objects, self.options.simulator)
        self.link('core_tests', objects, self.options.tests)

    def compile(self, source):
        """Compiles all mutants of a source, without those that do not compile."""
        copy = self.build / source.path.replace('/', '_')
        built = copy.with_suffix('.o')
        chosen = list(source.mutants)
        while True:
            copy.write_text(source.with_mutants(chosen))
            done = subprocess.run([*self.compiler, '-c', str(copy), '-o', str(built)],
                                  capture_output=True, text=True)
            if done.returncode == 0:
                break
            lines = {int(x['line']) for x in ERROR.finditer(done.stderr)
                     if x['file'] == str(copy)}
            # Of a line, the rule that is wrong most often goes first.
            left = []
            order = ['sum', 'return', 'statement', 'choice', 'operand', 'comparison', 'check']
            worst = {line: min((order.index(x.rule) for x in chosen if covers(x, source, line)),
                               default=None) for line in lines}
            for x in chosen:
                if not any(covers(x, source, line) and order.index(x.rule) == worst[line]
                           for line in lines):
                    left.append(x)
            if len(left) == len(chosen):
                sys.exit(f'{source.path} does not compile:\n{done.stderr[:4000]}')
            chosen = left
        self.broken += len(source.mutants) - len(chosen)
        source.mutants = chosen
        return str(built)

    def link(self, program, objects, others):
        done = subprocess.run([*self.compiler, *objects, *others, '-o',
                               str(self.build / program)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f'{program} cannot be linked:\n{done.stderr[:4000]}')

    # -- looking --------------------------------------------------------------

    def run(self, program, number, seconds):
        """How it ended: 'passed', 'failed', 'killed by 6', 'hung'."""
        environment = dict(os.environ, ACTORRUN_MUTANT=str(number))
        try:
            done = subprocess.run(
                program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=seconds, preexec_fn=limit_memory)
        except subprocess.TimeoutExpired:
            return 'hung', ''
        last = done.stdout.decode(errors='replace').strip().split('\n')[-1]
        if done.returncode == 0:
            return 'passed', last
        if done.returncode < 0:
            return f'killed by {-done.returncode}', last
        return 'failed', last

    def simulate(self, number):
        """A mutant may hang; what takes a sample's time only counts as noticed."""
        seconds = 20 if self.options.sample else 60
        return self.run([str(self.build / 'find_bug'), str(self.options.seeds)], number, seconds)

    def test(self, number, stem=None, seconds=60):
        """Of a source, the tests that are called after it come first: they are quick."""
        others = ['~timer*', '~store*', '~*as many agents as allowed*']
        for names in [[f'{stem}:*', *others], others] if stem else [others]:
            how = self.run([str(self.build / 'core_tests'), '--abort', *names], number, seconds)
            if how[0] != 'passed':
                break
        return how

    def judge(self, mutant):
        """Who notices it: 'simulator', 'tests' or 'nobody'."""
        how, last = self.simulate(mutant.number)
        if how != 'passed':
            return mutant, 'simulator', f'{how}: {last}' if last else how
        how, last = self.test(mutant.number, pathlib.Path(mutant.file).stem)
        if how != 'passed':
            return mutant, 'tests', how
        return mutant, 'nobody', ''


def covers(mutant, source, line):
    """Whether a mutant changes this line of its source."""
    first = source.text.count('\n', 0, min(x[0] for x in mutant.inserts)) + 1
    last = source.text.count('\n', 0, max(x[0] for x in mutant.inserts)) + 1
    return first <= line <= last


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def keys_of(sources):
    """A key of its own for each mutant, by number: of equal ones, the later are counted."""
    found, seen = {}, collections.Counter()
    for source in sources:
        lines = source.text.split('\n')
        for x in source.mutants:
            key = x.key(lines)
            seen[key] += 1
            found[x.number] = key if seen[key] == 1 else f'{key} #{seen[key]}'
    return found


def read_table(path, trusted):
    """{key: (who, how)} of the mutants that one of these has noticed."""
    found = {}
    for line in path.read_text().splitlines() if path else []:
        who, _, _, key, how = line.split('\t', 4)
        if who in trusted:
            found[key] = who, how
    return found


def read_list(name):
    """{key: reason}. A line is `KEY  ## reason`; one that begins with # is a comment."""
    found = {}
    for line in pathlib.Path(__file__).with_name(name).read_text().split('\n'):
        if line and not line.startswith('#'):
            key, _, reason = line.partition('  ## ')
            found[key] = reason
    return found


def main():
    options = arguments()
    began = time.monotonic()
    work = Mutation(options)
    work.make()
    for program, how in (('find_bug', work.simulate(0)), ('core_tests', work.test(0))):
        if how[0] != 'passed':
            sys.exit(f'{program} fails without any mutant: {how}')
    everything = [(x, work.keys[x.number])
                  for source in work.sources.values() for x in source.mutants]
    chosen = [(x, key) for x, key in everything if options.only in key]
    if options.sample:
        # A change somewhere else must not bring a hole to light that was there before.
        chosen = sorted(chosen, key=lambda x: zlib.crc32(x[1].encode()))[:options.sample]
    equivalents, known = read_list('equivalent.txt'), read_list('holes.txt')
    listed = {key for key in {**equivalents, **known}
              if key.partition(':')[0] in work.sources}
    unknown = listed - {key for _, key in everything}
    complaints = [f'is no mutant (any more): {key}' for key in sorted(unknown)]
    complaints += [f'no reason is given: {key}' for key, why in equivalents.items() if not why]
    print(f'{len(everything)} mutants ({work.broken} more did not compile); '
          f'{len(chosen)} of them are tried', flush=True)

    counts = {(kind, who): 0 for kind in ('protocol', 'text')
              for who in ('simulator', 'tests', 'nobody', 'equivalent')}
    earlier = read_table(options.earlier, options.trust)

    def judge(x):
        key = work.keys[x.number]
        return (x, *earlier[key]) if key in earlier else work.judge(x)

    report = open(options.report or os.devnull, 'w', buffering=1)
    with report, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        todo = [x for x, key in chosen if key not in equivalents]
        for x in chosen:
            if x[1] in equivalents:
                counts[kind_of(x[0]), 'equivalent'] += 1
        for n, (x, who, how) in enumerate(pool.map(judge, todo), 1):
            key = work.keys[x.number]
            counts[kind_of(x), who] += 1
            report.write(f'{who}\t{kind_of(x)}\t{x.line}\t{key}\t{how}\n')
            is_judged = not options.sample or kind_of(x) == 'protocol'
            if who == 'nobody' and key not in known and is_judged:
                complaints.append(f'nobody notices {x.file}:{x.line}: {key}')
                print(complaints[-1], flush=True)
            elif who != 'nobody' and key in known and not options.sample:
                complaints.append(f'holes.txt lists what {who} found: {key}')
            if n % 100 == 0:
                print(f'{n} of {len(todo)}, {time.monotonic() - began:.0f} s', flush=True)

    for kind in ('protocol', 'text'):
        print(f'{kind}: ' + ', '.join(
            f'{counts[kind, who]} {who}' for who in ('simulator', 'tests', 'nobody', 'equivalent')))
    judged = sum(counts['protocol', who] for who in ('simulator', 'tests', 'nobody'))
    share = 100 * counts['protocol', 'simulator'] / max(1, judged)
    print(f'the simulator alone finds {share:.1f} % of {judged}; '
          f'{time.monotonic() - began:.0f} s')
    print('\n'.join(complaints))
    # Of a small sample the share says little.
    too_few = not options.sample and not options.only and share < SIMULATOR_SHARE_MIN
    sys.exit(1 if complaints or too_few else 0)


def kind_of(mutant):
    assigned = ASSIGNMENT.match(mutant.what)
    is_text = (mutant.is_text or mutant.function in TEXTS
               or (assigned is not None and assigned['name'] in TEXT_VARIABLES))
    return 'text' if is_text else 'protocol'


if __name__ == '__main__':
    main()
