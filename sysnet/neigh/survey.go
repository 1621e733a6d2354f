package neigh

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// surveyTries bounds the attempts to read a table that changes during the dump.
const surveyTries = 5

// survey holds the kernel tables for one look.
type survey struct {
	links      map[int]*netlink.LinkAttrs
	neighbours map[key]netlink.Neigh
}

// key identifies an entry of the neighbour table.
type key struct {
	index int
	addr  netip.Addr
}

func (w *Watcher) survey() (*survey, error) {
	s := &survey{links: map[int]*netlink.LinkAttrs{}, neighbours: map[key]netlink.Neigh{}}
	links, err := whole(w.kernel.LinkList)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	for _, l := range links {
		s.links[l.Attrs().Index] = l.Attrs()
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		entries, err := whole(func() ([]netlink.Neigh, error) { return w.kernel.NeighList(0, family) })
		if err != nil {
			return nil, fmt.Errorf("neighbours: %w", err)
		}
		for _, n := range entries {
			if a, ok := netip.AddrFromSlice(n.IP); ok {
				s.neighbours[key{n.LinkIndex, a.Unmap()}] = n
			}
		}
	}
	return s, nil
}

// whole repeats a dump that the kernel reports as interrupted. The last attempt counts
// even if interrupted, because the next event triggers another look.
func whole[T any](ask func() ([]T, error)) (all []T, err error) {
	for range surveyTries {
		if all, err = ask(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, nil
}

// route gets the route to the address from the kernel and returns the NextHop without the
// MAC.
func (w *Watcher) route(s *survey, a netip.Addr) NextHop {
	p := NextHop{Addr: a}
	routes, err := w.kernel.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		p.Problem = "no route leads there"
		if err != nil && !errors.Is(err, unix.ENETUNREACH) {
			p.Problem = fmt.Sprintf("no route leads there: %v", err)
		}
		return p
	}
	r := routes[0]
	p.Index = r.LinkIndex
	link := s.links[p.Index]
	if link != nil {
		p.Interface = link.Name
	}
	switch {
	case r.Type == unix.RTN_LOCAL:
		p.Problem = "the address is one of this machine"
		return p
	case r.Type != unix.RTN_UNICAST:
		p.Problem = "it is not the address of one host"
		return p
	case link == nil:
		p.Problem = "the route names an interface that is gone"
		return p
	case link.Flags&net.FlagUp == 0:
		p.Problem = "interface " + p.Interface + " is down"
		return p
	case len(link.HardwareAddr) != len(MAC{}) || link.Flags&net.FlagLoopback != 0:
		p.Problem = "interface " + p.Interface + " has no MAC addresses"
		return p
	}
	p.Own = MAC(link.HardwareAddr)
	if gw, ok := netip.AddrFromSlice(r.Gw); ok {
		p.Gateway = gw.Unmap()
	}
	if via, ok := r.Via.(*netlink.Via); ok {
		p.Gateway, _ = netip.AddrFromSlice(via.Addr)
	}
	return p
}
