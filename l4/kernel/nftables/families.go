package nftables

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// A kernel may have nf_tables without the family netdev, which only dsr and stateless_dnat
// need. A transaction of this family that fails is the occasion to find out.

// errNoNetdev means that farms need the family netdev, and the kernel lacks it.
var errNoNetdev = errors.New("this kernel lacks the family netdev of nf_tables")

// tables returns the tables of this instance that the kernel can have.
func (n *Filter) tables() []nft.Table {
	if n.noNetdev.Load() {
		return []nft.Table{rules.Inet()}
	}
	return rules.Tables()
}

// lacksNetdev reports whether the transaction that failed with err needed a family that is
// missing. Later ones do without it.
func (n *Filter) lacksNetdev(ctx context.Context, err error) bool {
	if !errors.Is(err, nft.ErrUnsupported) || n.noNetdev.Load() || n.run.Check(ctx) != nil {
		return false
	}
	n.noNetdev.Store(errors.Is(n.run.CheckFamily(ctx, rules.Netdev().Family), nft.ErrUnsupported))
	return n.noNetdev.Load()
}

// possible returns in without what needs a missing family. refused holds the farms that need
// it, with the reasons, and else nothing. Of stopped ones only ended connections are recorded.
func (n *Filter) possible(in *rules.Input) (left *rules.Input, refused map[uint32]string) {
	if !n.noNetdev.Load() {
		return in, nil
	}
	out := *in
	out.Farms, out.Recorded = nil, slices.Clone(in.Recorded)
	refused = map[uint32]string{}
	for _, f := range in.Farms {
		switch needed := f.InKernel() && rules.Home(f.L4.NAT) == rules.Netdev(); {
		case !needed:
			out.Farms = append(out.Farms, f)
		case f.Stopped:
			out.Recorded = append(out.Recorded, f)
		default:
			refused[f.ID] = fmt.Sprintf("nattype %s: %v", f.L4.NAT, errNoNetdev)
		}
	}
	return &out, refused
}

// try makes the kernel carry the farms of in, for carry.Most.
func (n *Filter) try(ctx context.Context, in *rules.Input) (problems, refused map[uint32]string, err error) {
	left, refused := n.possible(in)
	if len(refused) > 0 {
		return nil, refused, errNoNetdev
	}
	want, problems := n.rules.Compile(left)
	err = n.become(ctx, want)
	if n.lacksNetdev(ctx, err) {
		return n.try(ctx, in)
	}
	var e *nft.Error
	if errors.As(err, &e) {
		return nil, e.Refused, err
	}
	return problems, nil, err
}
