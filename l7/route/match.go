package route

import "encoding/binary"

// Match returns the index of the first rule that matches, or -1. The host is in lower case,
// with its port if present. The target is the canonical path with its query. Both are only
// read. The conditions more are evaluated for rules with More, possibly for some after the
// result. It may be nil if no rule has More.
//
// Budget: no allocation, 150 ns with a hundred literal rules, for any position of the match.
func (t *Table) Match(host, target []byte, more Conditions) int {
	bare := bareLen(host)
	if !plainHost(host) {
		return t.matchOdd(host, target, bare, more)
	}
	w := walk{table: t, host: host, target: target, bare: bare, best: int32(len(t.rules)), plain: plainTarget(target), more: more}
	var marked *bits
	if t.urlWords != nil {
		marked = &bits{} // on the stack, and not cleared for tables without candidates
	}
	w.hosts(0, 0, marked)
	if t.hostWords != nil {
		w.siftHosts(marked)
	}
	if int(w.best) == len(t.rules) {
		return -1
	}
	return int(w.best)
}

// Also reports whether a rule matches input that another rule is known to match. Equal
// patterns are not evaluated again.
func (t *Table) Also(rule, matched int, host, target []byte, more Conditions) bool {
	r, known := &t.rules[rule], &t.rules[matched]
	return (r.host == known.host || r.host.matches(host, bareLen(host))) &&
		(r.url == known.url || r.url.matches(target, len(target))) && (!r.more || more.Holds(rule))
}

// matchOdd evaluates the regular expressions. Hosts accepted by a strict parser are always
// plain.
func (t *Table) matchOdd(host, target []byte, bare int, more Conditions) int {
	for i, r := range t.rules {
		if r.host.matches(host, bare) && r.url.matches(target, len(target)) && (!r.more || more.Holds(i)) {
			return i
		}
	}
	return -1
}

// walk is a match in progress. It lives on the stack.
type walk struct {
	table        *Table
	host, target []byte
	bare         int   // length of host without its port
	best         int32 // lowest rule found so far
	plain        bool  // target is printable ASCII
	more         Conditions

	scanned bool     // target was scanned for literals
	asked   *pattern // last URL pattern whose expression ran; rules may share it
	said    bool     // its result
}

// hosts follows the host trie from node n at host[pos]; marked is for group. A set edge
// beside a literal edge is followed by recursion. No node is visited twice at the same
// position, so the work is bounded by the size of the trie.
func (w *walk) hosts(n uint32, pos int, marked *bits) {
	t, s := w.table.hosts, w.host
	for {
		nd := &t.nodes[n]
		if len(nd.run) > 0 {
			if len(s)-pos < len(nd.run) || string(s[pos:pos+len(nd.run)]) != nd.run {
				return
			}
			pos += len(nd.run)
		}
		for i := nd.prefix.from; i < nd.prefix.to; i++ {
			w.group(&t.entries[i], marked)
		}
		if pos == len(s) || pos == w.bare {
			for i := nd.exact.from; i < nd.exact.to; i++ {
				w.group(&t.entries[i], marked)
			}
		}
		if pos == len(s) {
			return
		}
		b, next := s[pos], uint32(0)
		pos++
		if k := b - nd.lo; k < nd.span {
			next = t.jump[nd.jump+uint32(k)]
		}
		for i := nd.sets.from; i < nd.sets.to; i++ {
			if e := &t.edges[i]; !e.set.has(b) {
				continue
			} else if next == 0 {
				next = e.child
			} else {
				w.hosts(e.child, pos, marked)
			}
		}
		if next == 0 {
			return
		}
		n = next
	}
}

// group searches the rules of a host pattern for a better one. Once scanned, marked holds
// the URL patterns with a literal in the target. It is an argument because escape analysis
// would move it to the heap if w pointed at it.
func (w *walk) group(e *entry, marked *bits) {
	g := &w.table.groups[e.value]
	if g.first >= w.best || e.check != nil && !e.check.ok(w.host, w.bare) {
		return
	}
	if w.plain {
		w.urls(g.urls, 0, 0)
		if len(g.sifted) > 0 {
			w.siftURLs(g.sifted, marked)
		}
		return
	}
	for _, r := range g.rules {
		if r >= w.best {
			return
		}
		if c := &w.table.rules[r]; c.url.matches(w.target, len(w.target)) && (!c.more || w.more.Holds(int(r))) {
			w.best = r
			return
		}
	}
}

// urls follows a URL trie like hosts.
func (w *walk) urls(t *trie, n uint32, pos int) {
	s := w.target
	for {
		nd := &t.nodes[n]
		if len(nd.run) > 0 {
			if len(s)-pos < len(nd.run) || string(s[pos:pos+len(nd.run)]) != nd.run {
				return
			}
			pos += len(nd.run)
		}
		if nd.prefix.from < nd.prefix.to {
			w.rules(t.entries[nd.prefix.from:nd.prefix.to])
		}
		if pos == len(s) {
			w.rules(t.entries[nd.exact.from:nd.exact.to])
			return
		}
		b, next := s[pos], uint32(0)
		pos++
		if k := b - nd.lo; k < nd.span {
			next = t.jump[nd.jump+uint32(k)]
		}
		for i := nd.sets.from; i < nd.sets.to; i++ {
			if e := &t.edges[i]; !e.set.has(b) {
				continue
			} else if next == 0 {
				next = e.child
			} else {
				w.urls(t, e.child, pos)
			}
		}
		if next == 0 {
			return
		}
		n = next
	}
}

// rules selects the first entry that holds and precedes the best so far.
func (w *walk) rules(list []entry) {
	for i := range list {
		e := &list[i]
		if e.value >= w.best {
			return
		}
		if (e.check == nil || w.holds(e.check)) && (!e.more || w.more.Holds(int(e.value))) {
			w.best = e.value
			return
		}
	}
}

// holds evaluates a check for the target.
func (w *walk) holds(c *check) bool {
	if c.kind != expression {
		return c.ok(w.target, len(w.target))
	}
	if c.p != w.asked {
		w.asked, w.said = c.p, c.ok(w.target, len(w.target))
	}
	return w.said
}

// Eight bytes at a time: a sum reaches the high bit of its byte exactly if the byte is at or
// above the bound. Sums of bytes below 0x80 do not carry; bytes above have their high bit set
// anyway.
const (
	ones  = 0x0101010101010101
	high  = 0x80 * ones
	blank = (0x80 - ' ') * ones // ≥ ' '
	del   = (0x80 - 0x7f) * ones
	fromA = (0x80 - 'A') * ones
	pastZ = (0x80 - ('Z' + 1)) * ones
)

// odd is nonzero if one of eight bytes is not printable ASCII.
func odd(x uint64) uint64 { return (x | ^(x + blank) | (x + del)) & high }

// upper is nonzero if one of eight printable bytes is an upper-case letter.
func upper(x uint64) uint64 { return (x + fromA) &^ (x + pastZ) & high }

// plainTarget reports whether s is printable ASCII.
func plainTarget(s []byte) bool {
	var bad uint64
	for ; len(s) >= 8; s = s[8:] {
		bad |= odd(binary.LittleEndian.Uint64(s))
	}
	return bad|odd(rest(s)) == 0
}

// plainHost reports whether s is printable ASCII without upper-case letters.
func plainHost(s []byte) bool {
	var bad uint64
	for ; len(s) >= 8; s = s[8:] {
		x := binary.LittleEndian.Uint64(s)
		bad |= odd(x) | upper(x)
	}
	x := rest(s)
	return bad|odd(x)|upper(x) == 0
}

// rest packs fewer than eight bytes, padded with spaces.
func rest(s []byte) uint64 {
	x := uint64(' ' * ones)
	for _, b := range s {
		x = x<<8 | uint64(b)
	}
	return x
}

// bareLen returns the length of the host without its port. Colons within the brackets of an
// IPv6 address are not a port separator.
func bareLen(host []byte) int {
	i := len(host)
	for i > 0 && host[i-1] >= '0' && host[i-1] <= '9' {
		i--
	}
	if i > 0 && host[i-1] == ':' {
		return i - 1
	}
	return len(host)
}
