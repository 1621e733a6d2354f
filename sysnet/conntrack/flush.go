package conntrack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ct "github.com/ti-mo/conntrack"
	"github.com/ti-mo/netfilter"
	"golang.org/x/sys/unix"
)

// Flush deletes all entries of the filter and returns their initial number. The endpoints
// keep their connections; the next packet creates a new entry. A filter that could match
// other connections returns ErrNotOurs. The filter cannot select a protocol.
//
// The kernel walks the table once for each request and may miss entries that are added
// meanwhile, so Flush repeats a few times.
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
	for range dumpTries {
		if err := forget(ctx, f); err != nil {
			return 0, err
		}
		left, err := total(ctx, f)
		if err != nil || left == 0 {
			return n, err
		}
	}
	return n, nil // clients that go on sending
}

// FlushOnly deletes the entries of all farms whose backend satisfies only, and returns their
// number. A first walk finds the backends that have entries. Backends with consecutive
// numbers, e.g. of one farm, share the walks that delete.
func FlushOnly(ctx context.Context, only func(backend uint32) bool) (sum int, err error) {
	for try := range dumpTries {
		meant, n, err := marked(ctx, only)
		if try == 0 {
			sum = n
		}
		if err != nil || len(meant) == 0 {
			return sum, err
		}
		if err := forget(ctx, cover(meant, only)...); err != nil {
			return 0, err
		}
	}
	return sum, nil // clients that go on sending
}

// marked returns the selected backends that have entries, in order, and the number of
// entries.
func marked(ctx context.Context, only func(backend uint32) bool) (ids []uint32, entries int, err error) {
	counts, err := Count(ctx, Farms())
	for mark, c := range counts {
		if id, _ := BackendOf(mark); only(id) {
			ids, entries = append(ids, id), entries+c.Total
		}
	}
	slices.Sort(ids)
	return ids, entries, err
}

// widest is the maximum number of backends of one filter, as a power of two.
const widest = 16

// cover returns filters that match the sorted ids and possibly other selected backends,
// but no further ones.
func cover(ids []uint32, only func(backend uint32) bool) (out []Filter) {
	for i := 0; i < len(ids); {
		first, size := ids[i], uint32(1)
		for wide := size * 2; wide <= 1<<widest && all(ids[i]&^(wide-1), wide, first, size, only); wide *= 2 {
			first, size = ids[i]&^(wide-1), wide
		}
		out = append(out, Filter{Mark: BackendMark(first), Mask: ^(size - 1)})
		for i < len(ids) && ids[i]-first < size {
			i++
		}
	}
	return out
}

// all reports whether all size numbers from first are selected. The numbers from known on
// are already checked.
func all(first, count, known, size uint32, only func(backend uint32) bool) bool {
	for id := first; id < first+count; id++ {
		if id == known {
			id += size - 1
			continue
		}
		if !only(id) {
			return false
		}
	}
	return true
}

// forget deletes the entries of each filter.
func forget(ctx context.Context, filters ...Filter) error {
	c, err := ct.Dial(nil)
	if err != nil {
		return fmt.Errorf("tracked connections: %w", err)
	}
	defer c.Close()
	for _, f := range filters {
		if err := errors.Join(f.ours(), ctx.Err()); err != nil {
			return err
		}
		want := ct.NewFilter().Mark(f.Mark).MarkMask(f.Mask).Family(netfilter.ProtoFamily(f.Family))
		if err := c.FlushFilter(want); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("deleting tracked connections: %w", err)
		}
	}
	return nil
}

func total(ctx context.Context, f Filter) (int, error) {
	counts, err := Count(ctx, f)
	n := 0
	for _, c := range counts {
		n += c.Total
	}
	return n, err
}
