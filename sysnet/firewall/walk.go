package firewall

import "net/netip"

// Listener is the destination of a client's first packet: an address on which the engine
// accepts clients of a farm, or a backend to which the kernel forwards them.
type Listener struct {
	Network string // "tcp", "udp" or, for a backend, "sctp"
	Addr    netip.AddrPort
	path    path
}

// path is how packets reach a Listener.
type path uint8

const (
	local     path = iota // they arrive at the engine
	rewritten             // conntrack has given them another destination (nat, dnat)
	untracked             // they are forwarded without a connection (stateless_dnat)
)

// fit is the result of a condition or rule for the first packet of a new client from
// another machine.
type fit int

const (
	never fit = iota
	perhaps
	always
)

func fitIf(is bool) fit {
	if is {
		return always
	}
	return never
}

// fate is the verdict of a rule.
type fate int

const (
	unknown fate = iota // may be accept
	accept
	drop // drop or reject
	giveBack
	jump
	gotoChain
)

// step is one possible verdict of a rule and its certainty.
type step struct {
	fit
	fate
	target string // chain of a jump or goto
}

// stepper evaluates a rule for packets to a listener. An empty result continues with the
// next rule.
type stepper func(to Listener) []step

// end holds the possible results of a chain for a packet. If both fields are false, the
// chain certainly drops it.
type end struct{ passes, returns bool }

// walk evaluates the chains of one table for one listener. Rules that are not understood
// count as accept.
type walk struct {
	chains map[string][]stepper
	to     Listener
	known  map[string]end
	depth  int
}

// drops reports whether the base chain certainly drops all new clients of the listener.
// dropping is true if its policy is drop.
func drops(chains map[string][]stepper, base string, dropping bool, to Listener) bool {
	w := &walk{chains: chains, to: to, known: map[string]end{}}
	e := w.chain(base)
	return !e.passes && (!e.returns || dropping)
}

func (w *walk) chain(name string) end {
	if e, ok := w.known[name]; ok {
		return e
	}
	rules, there := w.chains[name]
	if !there || w.depth > maxDepth {
		return end{passes: true}
	}
	w.depth++
	e := w.rules(rules)
	w.depth--
	w.known[name] = e
	return e
}

func (w *walk) rules(list []stepper) (e end) {
	for _, rule := range list {
		for _, s := range rule(w.to) {
			done := false
			if done, e = w.step(s, e); done {
				return e
			}
		}
	}
	e.returns = true
	return e
}

// step adds the effect of s to e. done is true if no packet reaches the next step or the
// result is already certain.
func (w *walk) step(s step, e end) (done bool, _ end) {
	switch s.fate {
	case drop:
	case giveBack:
		e.returns = true
	case jump, gotoChain:
		in := w.chain(s.target)
		e.passes = in.passes
		if in.returns && s.fate == jump {
			return e.passes, e
		}
		e.returns = e.returns || in.returns
	default:
		e.passes = true
	}
	return e.passes || s.fit == always, e
}
