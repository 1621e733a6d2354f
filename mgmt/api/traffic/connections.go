package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// ConnectionTable holds the connections of l4xnat farms of one data path. It returns
// apply.ErrUnavailable if its owner does not respond, and other errors.
type ConnectionTable interface {
	// Connections returns at most limit connections to the backends with these stable IDs,
	// nil for all, and their total number.
	Connections(ctx context.Context, backends []uint32, limit int) (list []Tracked, total int, err error)
	// FlushConnections ends all of them and returns their number.
	FlushConnections(ctx context.Context, backends []uint32) (int, error)
}

// Tracked is a connection or flow, as known to the engine or the kernel.
type Tracked struct {
	Backend  uint32 // stable ID
	Protocol string // "tcp", "udp", or a protocol number
	State    string
	// Client connected to To, Server is the backend. Ports are 0 for protocols without
	// ports.
	Client, To, Server netip.AddrPort
	// Timeout is the remaining lifetime without packets, in seconds.
	Timeout                                  uint32
	PacketsIn, BytesIn, PacketsOut, BytesOut uint64
}

// Connection is one connection or flow of an l4xnat farm.
type Connection struct {
	Farm        string `json:"farm"`
	ID          int    `json:"id" doc:"Number of the backend in the farm"`
	Protocol    string `json:"protocol"`
	State       string `json:"state" doc:"Protocol state, e.g. established or syn_sent; replied or unreplied if the protocol has none"`
	Client      string `json:"client"`
	ClientPort  uint16 `json:"client_port"`
	VIP         string `json:"vip"`
	VPort       uint16 `json:"vport"`
	BackendIP   string `json:"backend_ip"`
	BackendPort uint16 `json:"backend_port"`
	Timeout     uint32 `json:"timeout" doc:"Remaining lifetime without another packet, in seconds"`
	PacketsIn   uint64 `json:"packets_in" doc:"From the client; 0 when packets are not counted"`
	BytesIn     uint64 `json:"bytes_in"`
	PacketsOut  uint64 `json:"packets_out" doc:"To the client"`
	BytesOut    uint64 `json:"bytes_out"`
}

// ConnectionList is the response about connections.
type ConnectionList struct {
	rest.List[Connection]
	Total   int    `json:"total_connections" doc:"Total number; with filters, matches among the first 1000 (engine) or 10000 (kernel). At most 1000 are listed"`
	Warning string `json:"warning,omitempty" doc:"Unknown information at the moment"`
}

func (s *Resource) connectionOperations() []*rest.Operation {
	if s.deps.Tracked == nil && s.deps.Forwarded == nil {
		return nil
	}
	const which, backend = "Only connections of this l4xnat farm", "Only connections to this backend (number); requires farm"
	return []*rest.Operation{
		rest.Op(rest.Get, "/connections", rbac.Open, "List the connections of l4xnat farms", s.listConnections).CutsItself().
			With("farm", which).With("backend", backend).With("limit", "Maximum number of entries, 1 to 1000; defaults to 1000"),
		rest.Op(rest.Delete, "/connections", rbac.FarmMaintenance, "End the connections of l4xnat farms", s.flushConnections).
			With("farm", which).With("backend", backend).Refers(),
	}
}

// place is the farm of a backend and its public number.
type place struct {
	farm   string
	number int
}

// chosen is the selection of backends whose connections are requested.
type chosen struct {
	places           map[uint32]place
	kernel, userland []uint32
	all              bool
	name             string // for messages
}

// choice reads the selection: the backends of all l4xnat farms, of one farm, or one
// backend.
func choice(c *rest.Call) (chosen, error) {
	name, backend := c.Query("farm"), c.Query("backend")
	out := chosen{places: map[uint32]place{}, name: "all l4xnat farms", all: name == "" && c.By.Who.Root()}
	if name == "" && backend != "" {
		return out, rest.BadRequest("backend: it needs a farm with it")
	}
	only := -1
	if name != "" {
		f, err := c.Visible(name)
		if err != nil {
			return out, err
		}
		if f.Carries() != farm.TrafficConnections {
			return out, rest.BadRequest("farm: %s is of profile %s, and connections are those of l4xnat farms: `sluice stats %s` shows what it carries", name, f.Profile, name)
		}
		out.name = "farm " + name
		if backend != "" {
			at, err := rest.AtBackend(f.Own(), backend)
			if err != nil {
				return out, err
			}
			only, out.name = at.Position, at.String()
		}
	}
	farms := c.Farms()
	for i := range farms {
		f := &farms[i]
		if f.Carries() != farm.TrafficConnections || name != "" && f.Name != name {
			continue
		}
		out.add(f, only)
	}
	return out, nil
}

func (w *chosen) add(f *farm.Farm, only int) {
	ids := &w.userland
	if f.InKernel() {
		ids = &w.kernel
	}
	for i, number := range f.Own().Numbers() {
		if only >= 0 && i != only {
			continue
		}
		id := f.Own().Backends()[i].ID
		w.places[id] = place{f.Name, number}
		*ids = append(*ids, id)
	}
}

// paths calls do for each data path that serves some of the backends. A partial failure is
// a warning; an error means that nothing was done.
func (s *Resource) paths(w chosen, do func(t ConnectionTable, backends []uint32) error) (warning string, err error) {
	var failed []string
	worked := false
	for _, path := range []struct {
		table    ConnectionTable
		backends []uint32
		missing  string
	}{
		{s.deps.Tracked, w.kernel, "netd does not answer, and connections of farms the kernel carries are known to it only"},
		{s.deps.Forwarded, w.userland, "the engine does not answer, and connections of farms in userspace are known to it only"},
	} {
		if len(path.backends) == 0 {
			continue
		}
		if w.all {
			path.backends = nil
		}
		one := error(apply.ErrUnavailable)
		if path.table != nil {
			one = do(path.table, path.backends)
		}
		switch {
		case one == nil:
			worked = true
		case errors.Is(one, apply.ErrUnavailable), errors.Is(one, context.DeadlineExceeded):
			failed = append(failed, path.missing)
			err = &rest.Rejection{Status: http.StatusServiceUnavailable, Message: strings.Join(failed, "; ") + ": try again", Cause: one}
		default:
			return "", state.KernelRejection(one)
		}
	}
	if worked {
		return strings.Join(failed, "; "), nil
	}
	return "", err
}

func (s *Resource) listConnections(c *rest.Call) (ConnectionList, error) {
	limit, err := c.Number("limit", maxListed, 1, maxListed)
	if err != nil {
		return ConnectionList{}, err
	}
	which, err := choice(c)
	if err != nil {
		return ConnectionList{}, err
	}
	most := int(limit)
	if c.Filtered() {
		most = conntrack.MaxListed
	}
	out := ConnectionList{List: rest.NewList[Connection]("List the connections of "+which.name, nil)}
	out.Warning, err = s.paths(which, func(t ConnectionTable, backends []uint32) error {
		found, total, err := t.Connections(c.Context, backends, most-len(out.Params))
		if err != nil {
			return err
		}
		for _, v := range found {
			if at, known := which.places[v.Backend]; known {
				out.Params = append(out.Params, connection(at, v))
			} else {
				total-- // of a backend deleted just now
			}
		}
		out.Total += total
		return nil
	})
	if c.Filtered() {
		out.Params = rest.Matching(c, out.Params)
		out.Params, out.Total = out.Params[:min(len(out.Params), int(limit))], len(out.Params)
	}
	return out, err
}

func connection(at place, v Tracked) Connection {
	return Connection{
		Farm: at.farm, ID: at.number, Protocol: v.Protocol, State: v.State,
		Client: addressText(v.Client), ClientPort: v.Client.Port(), VIP: addressText(v.To), VPort: v.To.Port(),
		BackendIP: addressText(v.Server), BackendPort: v.Server.Port(), Timeout: v.Timeout,
		PacketsIn: v.PacketsIn, BytesIn: v.BytesIn, PacketsOut: v.PacketsOut, BytesOut: v.BytesOut,
	}
}

func addressText(a netip.AddrPort) string {
	if !a.Addr().IsValid() {
		return ""
	}
	return a.Addr().Unmap().String()
}

// Ended is the number of connections ended by a flush.
type Ended struct {
	Connections int `json:"connections"`
}

func (s *Resource) flushConnections(c *rest.Call) (rest.Object[Ended], error) {
	which, err := choice(c)
	if err != nil {
		return rest.Object[Ended]{}, err
	}
	if _, err := c.Expected(); err != nil {
		return rest.Object[Ended]{}, err
	}
	if err := c.Act(); err != nil {
		return rest.Object[Ended]{}, err
	}
	out := rest.Object[Ended]{Description: c.Summary()}
	out.Warning, err = s.paths(which, func(t ConnectionTable, backends []uint32) error {
		n, err := t.FlushConnections(c.Context, backends)
		out.Params.Connections += n
		return err
	})
	out.Message = fmt.Sprintf("%d connections of %s have been ended.", out.Params.Connections, which.name)
	return out, err
}
