package firewall

import "net/netip"

// Listener is an address of a farm the engine takes clients on.
type Listener struct {
	Network string // "tcp" or "udp"
	Addr    netip.AddrPort
}

// fit says whether a rule, or a condition of one, is for the first packet of a
// new client from another machine to a listener.
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

// fate is what a rule does with a packet it is for.
type fate int

const (
	unknown fate = iota // it may as well let it pass
	accept
	drop // or reject
	giveBack
	jump
	gotoChain
)

// step is what one rule may do with the packet.
type step struct {
	fit
	fate
	target string // of jumps
}

// stepper is a rule: what it may do with packets to a listener. Nothing means
// that the next rule comes.
type stepper func(to Listener) []step

// end is how a chain may end for a packet; neither means that it is dropped for
// certain.
type end struct{ passes, returns bool }

// walk goes through the chains of one table for one listener. What is not
// understood counts as letting the packet pass.
type walk struct {
	chains map[string][]stepper
	to     Listener
	known  map[string]end
	depth  int
}

// drops reports whether the chain surely drops every new client of the listener.
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

// step adds to e what the step may bring about; done says that no packet gets to
// what follows, or that it does not matter.
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
