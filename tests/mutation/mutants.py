"""Makes mutants of C++ sources by rule.

All mutants of a source are written into one copy of it. Each sits behind a
switch, `actorrun_mutant(n)`, so that one build holds them all and a variable of
the environment chooses one. The copy has the lines of the original.

The sources must be formatted as this project's are: a `<` between blanks
compares, one without belongs to a template.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r'(?P<space>\s+|//[^\n]*|/\*.*?\*/|^#[^\n]*)'
    r'|(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')'
    r'|(?P<number>\d[\w.\']*)'
    r'|(?P<word>[A-Za-z_]\w*)'
    r'|(?P<sign>::|->|\+\+|--|<<|>>|<=>|<=|>=|==|!=|&&|\|\||[-+*/]=|.)',
    re.S | re.M)

OPEN, CLOSE = '([{', ')]}'

# A statement that begins with one of these is not dropped.
NOT_DROPPED = {
    'return', 'break', 'continue', 'const', 'auto', 'using', 'static', 'constexpr',
    'struct', 'class', 'enum', 'namespace', 'switch', 'if', 'for', 'while', 'do',
    'case', 'default', 'assert', 'template', 'else', 'explicit', 'public', 'private',
    'friend', 'void', 'bool', 'goto', 'try', 'catch', 'throw'}

OTHER_COMPARISONS = {
    '==': ['!='], '!=': ['=='], '<': ['<=', '>='], '<=': ['<', '>'],
    '>': ['>=', '<='], '>=': ['>', '<']}

# Where the condition of ?: begins.
CONDITION_BEGINS = {'?', ':', ',', ';', '=', '+=', '-=', '*=', '/=', '<<', 'return'}
# Where an operand of && or || ends.
LOGIC_ENDS = CONDITION_BEGINS | {'&&', '||'}
# Where an operand of a comparison ends.
COMPARISON_ENDS = LOGIC_ENDS | set(OTHER_COMPARISONS) | {'!'}
# Where what + or - is applied to begins, and where its second part ends.
SUM_BEGINS = COMPARISON_ENDS | {'>>'}
SUM_ENDS = SUM_BEGINS | {'+', '-'}


@dataclass
class Token:
    kind: str
    text: str
    begin: int
    end: int
    partner: int = -1  # Of a bracket: the index of the other one.
    spaced: bool = False  # Blanks on both sides.


@dataclass
class Mutant:
    file: str
    line: int
    rule: str
    what: str
    function: str
    inserts: list = field(default_factory=list)  # (position, rank, text)
    number: int = 0
    is_text: bool = False  # It changes a text that is put together there.

    def key(self, lines):
        """Names it in the list of equivalent mutants, whatever lines come before."""
        return f'{self.file}: {self.rule}: {self.what}: {lines[self.line - 1].strip()}'


def tokens_of(text):
    found = []
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        position = match.end()
        if match.lastgroup != 'space':
            found.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
    stack = []
    for i, x in enumerate(found):
        if x.kind == 'sign' and x.text in OPEN:
            stack.append(i)
        elif x.kind == 'sign' and x.text in CLOSE:
            j = stack.pop()
            found[i].partner, found[j].partner = j, i
        x.spaced = text[x.begin - 1:x.begin].isspace() and text[x.end:x.end + 1].isspace()
    return found


class Source:
    """One source, and the mutants that the rules make of it."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.tokens = tokens_of(text)
        self.mutants = []
        self.functions = self._functions()
        self.asserted = self._inside('assert')
        self._conditions()
        self._logic()
        self._comparisons()
        self._sums()
        self._statements()
        self._returns()
        self._choices()

    # -- where we are ---------------------------------------------------------

    def _line(self, i):
        return self.text.count('\n', 0, self.tokens[i].begin) + 1

    def _functions(self):
        """(begin, end, name) of each function's body, by token."""
        found = []
        xs = self.tokens
        for i, x in enumerate(xs):
            if x.text != '{' or i == 0:
                continue
            j = i - 1
            while xs[j].text in ('const', 'noexcept', 'override') and j > 0:
                j -= 1
            if xs[j].text != ')':
                continue
            name = xs[xs[j].partner - 1]
            if name.kind == 'word' and name.text not in ('if', 'for', 'while', 'switch'):
                found.append((i, x.partner, name.text))
        return found

    def _function_at(self, i):
        inner = [f for f in self.functions if f[0] < i < f[1]]
        return inner[0][2] if inner else ''

    def _inside(self, word):
        inside = set()
        for i, x in enumerate(self.tokens):
            if x.text == word and self.tokens[i + 1].text == '(':
                inside.update(range(i, self.tokens[i + 1].partner + 1))
        return inside

    def _add(self, i, rule, what, inserts, is_text=False):
        function = self._function_at(i)
        if function and i not in self.asserted:
            self.mutants.append(Mutant(self.path, self._line(i), rule, what, function, inserts,
                                       is_text=is_text or self._is_in_text(i)))

    def _is_in_text(self, i):
        """Whether it is in brackets, or in what a function makes for, a text that is put
        together: `"a" + std::to_string(n - 1) + (n == 1 ? "b" : "c")`."""
        xs = self.tokens
        for j in range(i, -1, -1):
            if xs[j].text not in OPEN or xs[j].kind != 'sign' or xs[j].partner < i:
                continue
            if xs[j].text != '(':
                return False
            first, last = self._left(j, SUM_BEGINS), self._right(xs[j].partner, SUM_BEGINS)
            signs = [k for k in self._level(first, last) if xs[k].text == '+' and xs[k].spaced]
            if signs and any(xs[k].kind == 'text' for k in self._level(first, last)):
                return True
        return False

    def _level(self, first, last):
        """The tokens between two that are not in brackets."""
        j = first
        while j <= last:
            yield j
            x = self.tokens[j]
            j = x.partner + 1 if x.kind == 'sign' and x.text in OPEN else j + 1

    def _has_text(self, first, last):
        return any(x.kind == 'text' for x in self.tokens[first:last + 1])

    def _source(self, first, last):
        return self.text[self.tokens[first].begin:self.tokens[last].end]

    def _brief(self, first, last):
        return ' '.join(self._source(first, last).split())

    def _left(self, i, ends):
        """The first token of the operand that ends before token i."""
        j = i - 1
        while j >= 0:
            x = self.tokens[j]
            if x.text in CLOSE and x.kind == 'sign':
                j = x.partner - 1
                continue
            if (x.text in OPEN and x.kind == 'sign') or self._is_end(j, ends):
                break
            j -= 1
        return j + 1

    def _right(self, i, ends):
        """The last token of the operand that begins after token i."""
        j = i + 1
        while j < len(self.tokens):
            x = self.tokens[j]
            if x.text in OPEN and x.kind == 'sign':
                j = x.partner + 1
                continue
            if (x.text in CLOSE and x.kind == 'sign') or self._is_end(j, ends):
                break
            j += 1
        return j - 1

    def _is_end(self, j, ends):
        x = self.tokens[j]
        if x.text in ('<', '>') and not x.spaced:
            return False
        return x.text in ends

    def _wrap(self, first, last, before, after):
        return [(self.tokens[first].begin, 1, before), (self.tokens[last].end, 0, after)]

    # -- the rules ------------------------------------------------------------

    def _conditions(self):
        """A check that always fails, or always holds."""
        xs = self.tokens
        for i, x in enumerate(xs):
            if x.text not in ('if', 'while') or xs[i + 1].text != '(':
                continue
            begin, end = i + 2, xs[i + 1].partner - 1
            semicolons = [j for j in range(begin, end) if xs[j].text == ';']
            if semicolons:
                begin = semicolons[-1] + 1
            what = self._brief(begin, end)
            declares = '=' in [xs[j].text for j in range(begin, end + 1)]
            if declares:
                name = xs[[j for j in range(begin, end) if xs[j].text == '='][0] - 1].text
                self._add(i, 'check', f'never {what}', [
                    (xs[end].end, 0, f'; {name} && !MUTANT')])
                continue
            self._add(i, 'check', f'never {what}',
                      self._wrap(begin, end, '!MUTANT && (', ')'))
            if x.text == 'if':
                self._add(i, 'check', f'always {what}',
                          self._wrap(begin, end, 'MUTANT || (', ')'))

    def _logic(self):
        """One operand of && or || less."""
        for i, x in enumerate(self.tokens):
            if x.text not in ('&&', '||') or not x.spaced:
                continue
            before = 'MUTANT || (' if x.text == '&&' else '!MUTANT && ('
            for first, last in ((self._left(i, LOGIC_ENDS), i - 1),
                                (i + 1, self._right(i, LOGIC_ENDS))):
                # The left one of `a && b && c` comes with the first sign.
                if first > i or self.tokens[first - 1].text not in ('&&', '||'):
                    self._add(i, 'operand', f'without {self._brief(first, last)}',
                              self._wrap(first, last, f'({before}', '))'))

    def _comparisons(self):
        """Another comparison."""
        for i, x in enumerate(self.tokens):
            if x.text not in OTHER_COMPARISONS or not x.spaced:
                continue
            first, last = self._left(i, COMPARISON_ENDS), self._right(i, COMPARISON_ENDS)
            left, right = self._source(first, i - 1), self._source(i + 1, last)
            for other in OTHER_COMPARISONS[x.text]:
                self._add(i, 'comparison', f'{self._brief(first, last)} by {other}',
                          self._wrap(first, last,
                                     f'(MUTANT ? ({flat(left)} {other} {flat(right)}) : (',
                                     '))'))

    def _sums(self):
        """A sum without its second part."""
        for i, x in enumerate(self.tokens):
            if x.text not in ('+', '-') or not x.spaced:
                continue
            first, last = self._left(i, SUM_BEGINS), self._right(i, SUM_ENDS)
            self._add(i, 'sum', f'without {self._brief(i, last)}',
                      self._wrap(first, last, f'(MUTANT ? ({flat(self._source(first, i - 1))}) : ',
                                 ')'),
                      self._has_text(first, self._right(i, SUM_BEGINS)))

    def _statements(self):
        """A statement that is not executed: a lost effect, a timer not disarmed."""
        xs = self.tokens
        for i, x in enumerate(xs):
            if x.kind != 'word' and x.text not in ('*', '++', '--'):
                continue
            if (x.text in NOT_DROPPED or not self._begins_statement(i)
                    or self._begins_declaration(i)):
                continue
            last = self._right(i - 1, {';'})
            if last + 1 >= len(xs) or xs[last + 1].text != ';':
                continue
            self._add(i, 'statement', f'no {self._brief(i, last)}',
                      [(x.begin, 2, '{ if (!MUTANT) '), (xs[last + 1].end, 0, ' }')])

    def _begins_statement(self, i):
        before = self.tokens[i - 1]
        if before.text in (';', '{', '}', 'else'):
            return True
        if before.text == ')':
            head = self.tokens[before.partner - 1].text
            return head in ('if', 'for', 'while', 'switch')
        if before.text == ':':
            j = i - 2
            while j > 0 and self.tokens[j].text not in (';', '{', '}', 'case', '?'):
                j -= 1
            return self.tokens[j].text == 'case' or self.tokens[i - 2].text == 'default'
        return False

    def _begins_declaration(self, i):
        xs = self.tokens
        while xs[i].kind == 'word' and xs[i + 1].text == '::':
            i += 2
        i += 1
        if xs[i].text == '<' and not xs[i].spaced:
            depth = 1
            while depth > 0:
                i += 1
                depth += {'<': 1, '>': -1, '>>': -2}.get(xs[i].text, 0)
            i += 1
        while xs[i].text in ('*', '&'):
            i += 1
        return xs[i].kind == 'word'

    def _returns(self):
        """The opposite answer; or the function ends before its last call."""
        xs = self.tokens
        for i, x in enumerate(xs):
            if x.text != 'return' or xs[i + 1].text == ';':
                continue
            last = self._right(i, {';'})
            what = self._brief(i + 1, last)
            if what in ('true', 'false'):
                self._add(i, 'return', f'not {what}', [(xs[i + 1].begin, 1, 'MUTANT != ')])
            elif xs[last].text == ')' and xs[i + 1].kind == 'word':
                self._add(i, 'return', f'no {what}', [
                    (x.begin, 2, '{ if (MUTANT) return; '), (xs[last + 1].end, 0, ' }')])

    def _choices(self):
        """The other one of min and max, and of the branches of ?:."""
        xs = self.tokens
        for i, x in enumerate(xs):
            if x.text in ('min', 'max') and xs[i - 1].text == '::' and xs[i - 2].text == 'std':
                other = 'max' if x.text == 'min' else 'min'
                j = i + 1
                while xs[j].text != '(':
                    j += 1
                call = flat(self._source(i + 1, xs[j].partner))
                self._add(i, 'choice', f'std::{other} instead',
                          self._wrap(i - 2, xs[j].partner,
                                     f'(MUTANT ? std::{other}{call} : ', ')'))
            elif x.text == '?' and x.kind == 'sign':
                first = self._left(i, CONDITION_BEGINS)
                self._add(i, 'choice', f'not {self._brief(first, i - 1)}',
                          self._wrap(first, i - 1, '(MUTANT != bool(', '))'),
                          self._has_text(i + 1, self._right(i, {',', ';', ':'})))

    # -- the copy -------------------------------------------------------------

    def with_mutants(self, chosen):
        """The source with these mutants, each behind its switch."""
        inserts = []
        for x in chosen:
            switch = f'actorrun_mutant({x.number})'
            width = x.inserts[-1][0] - x.inserts[0][0] or len(self.text)
            for position, rank, text in x.inserts:
                # Outer brackets open first and close last.
                opens = rank > 0
                inserts.append((position, opens, -rank, -width if opens else width,
                                x.number if opens else -x.number,
                                text.replace('MUTANT', switch)))
        out, done = [], 0
        for position, *_, text in sorted(inserts):
            out += [self.text[done:position], text]
            done = position
        return ''.join(out) + self.text[done:]


def flat(code):
    """Code in one line: the copy must have the lines of the original."""
    return ' '.join(re.sub(r'//[^\n]*', '', code).split())
