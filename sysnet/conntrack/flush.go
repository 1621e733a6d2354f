package conntrack

import (
	"context"
	"errors"
	"fmt"

	ct "github.com/ti-mo/conntrack"
	"github.com/ti-mo/netfilter"
	"golang.org/x/sys/unix"
)

// Flush deletes every entry of the filter, and tells how many there were when
// it began. Connections go on to exist at their ends: their next packet is
// taken for the first of a new connection. A filter that could hit what is not
// ours answers ErrNotOurs; the protocol cannot be chosen.
//
// The kernel walks the table once per request and may leave behind what came
// while it did: Flush looks again, a few times.
func Flush(ctx context.Context, f Filter) (int, error) {
	if err := f.ours(); err != nil {
		return 0, err
	}
	if f.Protocol != 0 || f.Only != nil {
		return 0, errors.New("tracked connections are deleted by mark and family only")
	}
	n, err := total(ctx, f)
	if err != nil || n == 0 {
		return 0, err
	}
	c, err := ct.Dial(nil)
	if err != nil {
		return 0, fmt.Errorf("tracked connections: %w", err)
	}
	defer c.Close()
	want := ct.NewFilter().Mark(f.Mark).MarkMask(f.Mask).Family(netfilter.ProtoFamily(f.Family))
	for range dumpTries {
		if err := c.FlushFilter(want); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("deleting tracked connections: %w", err)
		}
		left, err := total(ctx, f)
		if err != nil || left == 0 {
			return n, err
		}
	}
	return n, nil // clients that go on sending
}

// FlushOnly deletes the entries of all farms whose backend is one that only
// answers true for, and tells how many there were. Backends without entries
// cost nothing but the one walk that finds that out.
func FlushOnly(ctx context.Context, only func(backend uint32) bool) (int, error) {
	counts, err := Count(ctx, Farms())
	if err != nil {
		return 0, err
	}
	sum := 0
	var problems []error
	for mark := range counts {
		if id, _ := BackendOf(mark); only(id) {
			n, err := Flush(ctx, Backend(id))
			sum += n
			problems = append(problems, err)
		}
	}
	return sum, errors.Join(problems...)
}

func total(ctx context.Context, f Filter) (int, error) {
	counts, err := Count(ctx, f)
	n := 0
	for _, c := range counts {
		n += c.Total
	}
	return n, err
}
