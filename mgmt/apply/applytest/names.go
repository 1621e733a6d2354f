package applytest

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// Names implements apply.Names with the data that tests set. The zero value knows no name. It
// is safe for concurrent use.
type Names struct {
	mu    sync.Mutex
	known map[resolve.Question]resolve.State
	err   error
	asked map[string]int
}

// Set sets the addresses of a name, e.g. "10.0.0.1,10.0.0.2". With "" the name does not exist,
// and Look still returns the previous targets, like resolve.Follower.
func (n *Names) Set(name, addrs string) {
	var targets []resolve.Target
	for text := range strings.SplitSeq(addrs, ",") {
		if text != "" {
			targets = append(targets, resolve.Target{Addr: netip.MustParseAddr(text)})
		}
	}
	n.Serve(resolve.Question{Name: name}, targets...)
}

// Serve sets the targets of a question.
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

// Withdraw marks a name as having had no address for too long.
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

// Asked returns how often Ask was called for a name.
func (n *Names) Asked(name string) int { n.mu.Lock(); defer n.mu.Unlock(); return n.asked[name] }

// Ask returns the targets set.
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

// Look returns the state set.
func (n *Names) Look(q resolve.Question) (resolve.State, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.known[q]
	if n.err != nil {
		s.Problem = n.err.Error()
	}
	return s, ok || n.err != nil
}
