package applytest

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// Names implements apply.Names: what it knows is what tests set. The zero value
// knows no name. Safe for use by many goroutines.
type Names struct {
	mu    sync.Mutex
	known map[resolve.Question]resolve.State
	err   error
	asked map[string]int
}

// Set gives a name addresses, as "10.0.0.1,10.0.0.2"; none makes it one that does
// not exist, which keeps what was known as resolve.Follower does.
func (n *Names) Set(name, addrs string) {
	var targets []resolve.Target
	for text := range strings.SplitSeq(addrs, ",") {
		if text != "" {
			targets = append(targets, resolve.Target{Addr: netip.MustParseAddr(text)})
		}
	}
	n.Serve(resolve.Question{Name: name}, targets...)
}

// Serve gives a question its targets.
func (n *Names) Serve(q resolve.Question, targets ...resolve.Target) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[resolve.Question]resolve.State{}
	}
	if len(targets) == 0 {
		s := n.known[q]
		s.Problem, s.Gone = resolve.ErrNoName.Error(), true
		n.known[q] = s
		return
	}
	n.known[q] = resolve.State{Targets: targets, Answered: time.Now(), TTL: time.Minute}
}

// Withdraw says that a name has had no address for too long.
func (n *Names) Withdraw(name string) {
	n.Set(name, "")
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.known[resolve.Question{Name: name}]
	s.Withdrawn = true
	n.known[resolve.Question{Name: name}] = s
}

// Fail makes every question fail with err; nil ends that.
func (n *Names) Fail(err error) { n.mu.Lock(); n.err = err; n.mu.Unlock() }

// Asked is how often a name was asked for.
func (n *Names) Asked(name string) int { n.mu.Lock(); defer n.mu.Unlock(); return n.asked[name] }

// Ask answers what was set.
func (n *Names) Ask(_ context.Context, q resolve.Question) ([]resolve.Target, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	n.asked[q.Name]++
	s, ok := n.known[q]
	switch {
	case n.err != nil:
		return nil, n.err
	case !ok || s.Problem != "":
		return nil, resolve.ErrNoName
	}
	return s.Targets, nil
}

// Look tells what was set.
func (n *Names) Look(q resolve.Question) (resolve.State, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.known[q]
	if n.err != nil {
		s.Problem = n.err.Error()
	}
	return s, ok || n.err != nil
}
