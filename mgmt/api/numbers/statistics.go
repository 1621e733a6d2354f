package numbers

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Counters sums the engine's counters over its loops; *stats.Segment implements it.
type Counters interface {
	SumFarm(id uint32) stats.Farm
	SumBackend(id uint32) stats.Backend
}

func (s *Resource) statisticsOperations() []*rest.Operation {
	statisticsOf := func(name string, list func(*rest.Call) (AllStatistics, error)) *rest.Operation {
		return rest.Op(rest.Get, "/stats/farms/modules/"+name, rbac.Open, "List the statistics of the farms of the "+strings.ToUpper(name)+" module", list).
			With("profile", "Only farms of this profile").With("status", "Only farms with this status").Pages(reflect.TypeFor[FarmStatistics]())
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/stats/farms", rbac.Open, "List farms statistics", s.allStatistics).
			With("profile", "Only farms of this profile").With("status", "Only farms with this status").Pages(reflect.TypeFor[FarmStatistics]()),
		rest.Op(rest.Get, "/stats/farms/total", rbac.Open, "Get the number of farms", s.farmsTotal),
		rest.Op(rest.Get, "/stats/farms/modules", rbac.Open, "Count the farms of all modules by status", s.moduleStatistics),
		statisticsOf("lslb", s.statisticsOf(farms.LSLB)), statisticsOf("gslb", s.statisticsOf(farms.GSLB)), statisticsOf("dslb", s.statisticsOf(farms.DSLB)),
		rest.Op(rest.Get, "/stats/farms/{farm}", rbac.Open, "Get the statistics of a farm", s.oneFarmStatistics).Filters(reflect.TypeFor[BackendStatistics]()).Filters(reflect.TypeFor[state.Session]()),
		rest.Op(rest.Get, "/stats/farms/{farm}/backends", rbac.Open, "Get the statistics of the backends of a farm", s.oneFarmStatistics).Filters(reflect.TypeFor[BackendStatistics]()).Filters(reflect.TypeFor[state.Session]()),
		rest.Op(rest.Get, "/stats/farms/{farm}/services/{service}/backends", rbac.Open, "Get the statistics of the backends of a service", s.serviceStatistics).Filters(reflect.TypeFor[BackendStatistics]()).Filters(reflect.TypeFor[state.Session]()),
		rest.Op(rest.Get, "/stats/farms/{farm}/service/{service}/backends", rbac.Open, "Get the statistics of the backends of a service (older path)", s.serviceStatistics).Filters(reflect.TypeFor[BackendStatistics]()).Filters(reflect.TypeFor[state.Session]()),
	}
}

// Responses counts responses by the class of their status.
type Responses struct {
	Informational uint64 `json:"1xx"`
	Success       uint64 `json:"2xx"`
	Redirection   uint64 `json:"3xx"`
	ClientError   uint64 `json:"4xx"`
	ServerError   uint64 `json:"5xx"`
}

func responses(by [5]uint64) Responses {
	return Responses{by[0], by[1], by[2], by[3], by[4]}
}

// FarmCounters are the counters of a farm since it was created.
type FarmCounters struct {
	Connections   uint64    `json:"connections"`
	Requests      uint64    `json:"requests"`
	Responses     Responses `json:"responses"`
	BytesIn       uint64    `json:"bytes_in" doc:"Bytes from clients"`
	BytesOut      uint64    `json:"bytes_out" doc:"Bytes to clients"`
	BadRequests   uint64    `json:"bad_requests"`
	RefusedHeads  uint64    `json:"refused_heads" doc:"Requests with a head that was too long"`
	BadMethods    uint64    `json:"bad_methods"`
	NoBackend     uint64    `json:"no_backend" doc:"Requests without an available backend"`
	BackendErrors uint64    `json:"backend_errors"`
	Timeouts      uint64    `json:"timeouts"`
	ClientAborts  uint64    `json:"client_aborts"`
	Redirects     uint64    `json:"redirects"`
	Upgrades      uint64    `json:"upgrades"`
	Queued        uint64    `json:"queued" doc:"Requests that were queued for a backend"`
	QueueTimeouts uint64    `json:"queue_timeouts" doc:"Of these, rejected with 503 because they waited too long"`
	QueueFull     uint64    `json:"queue_full" doc:"Requests rejected with 503 because the queue was full"`
	PacketsIn     uint64    `json:"packets_in" doc:"Datagrams from clients; packets for farms in the kernel"`
	PacketsOut    uint64    `json:"packets_out" doc:"Datagrams to clients; packets for farms in the kernel"`
	// DNS is nil for farms without DNS queries.
	DNS *DNSCounters `json:"dns,omitempty" doc:"Query counters of a gslb farm"`
}

// DNSCounters holds the DNS query counters of a farm.
type DNSCounters struct {
	Queries    uint64 `json:"queries" doc:"Queries received"`
	TCP        uint64 `json:"tcp_queries" doc:"Of these, over TCP"`
	NoErrors   uint64 `json:"noerror" doc:"Queries answered with NOERROR"`
	NXDomains  uint64 `json:"nxdomain" doc:"Queries answered with NXDOMAIN: the name does not exist"`
	ServFails  uint64 `json:"servfail" doc:"Queries answered with SERVFAIL: a service had no address to return"`
	Refused    uint64 `json:"refused_names" doc:"Queries answered with REFUSED: outside the farm's zones, or not allowed"`
	Malformed  uint64 `json:"formerr" doc:"Queries answered with FORMERR, NOTIMP or BADVERS"`
	Unanswered uint64 `json:"no_messages" doc:"Dropped: not DNS messages"`
	Truncated  uint64 `json:"truncated" doc:"Responses truncated because of their size: the client retries over TCP"`
	Limited    uint64 `json:"limited" doc:"Dropped by the query rate limit of the client network"`
	Slipped    uint64 `json:"slipped" doc:"Responses truncated by the response rate limit"`
	Chosen     uint64 `json:"service_answers" doc:"Responses chosen by a service"`
	Transfers  uint64 `json:"transfers" doc:"Zone transfers to secondaries"`
}

// dnsCounters returns the counters of a gslb farm, nil for others.
func dnsCounters(of *farm.Farm, f stats.Farm) *DNSCounters {
	if of.Carries() != farm.TrafficQueries {
		return nil
	}
	return &DNSCounters{
		Queries: f.Queries, TCP: f.QueriesTCP, NoErrors: f.NoErrors, NXDomains: f.NXDomains, ServFails: f.ServFails, Refused: f.RefusedNames, Malformed: f.BadMessages,
		Unanswered: f.NoMessages, Truncated: f.Truncated, Limited: f.LimitedAsks, Slipped: f.SlippedAsks, Chosen: f.ServiceChosen, Transfers: f.Transfers,
	}
}

func farmCounters(of *farm.Farm, f stats.Farm) FarmCounters {
	return FarmCounters{
		Connections: f.Connections, Requests: f.Requests, Responses: responses(f.Responses),
		BytesIn: f.BytesIn, BytesOut: f.BytesOut, BadRequests: f.BadRequests, RefusedHeads: f.RefusedHead,
		BadMethods: f.BadMethods, NoBackend: f.NoBackend, BackendErrors: f.BackendErrors,
		Timeouts: f.Timeouts, ClientAborts: f.ClientAborts, Redirects: f.Redirects, Upgrades: f.Upgrades,
		Queued: f.QueuedTotal, QueueTimeouts: f.QueueTimeouts, QueueFull: f.QueueFull,
		PacketsIn: f.PacketsIn, PacketsOut: f.PacketsOut, DNS: dnsCounters(of, f),
	}
}

// FarmStatistics is a farm in the list of statistics.
type FarmStatistics struct {
	state.FarmItem
	Established uint64       `json:"established" doc:"Open client connections; for an l4xnat farm, connections and flows"`
	Pending     uint64       `json:"pending" doc:"Of these, without a complete first request; for an l4xnat farm, not yet established"`
	Queued      uint64       `json:"queued" doc:"Requests queued for a backend"`
	P50         *float64     `json:"p50,omitempty" doc:"Median request duration over the last five seconds, in seconds; absent if none ended"`
	P99         *float64     `json:"p99,omitempty" doc:"99th percentile of the duration, in seconds"`
	Counters    FarmCounters `json:"counters"`
}

// AllStatistics is the response about all farms.
type AllStatistics struct {
	Description string           `json:"description"`
	Farms       []FarmStatistics `json:"farms"`
	Warning     string           `json:"warning,omitempty" doc:"Unknown information at the moment"`
	Total       *int             `json:"total,omitempty" doc:"Total number of matches, if limit or offset was sent"`
}

var farmStatuses = []farm.Status{farm.StatusUp, farm.StatusDown, farm.StatusMaintenance,
	farm.StatusCritical, farm.StatusProblem, farm.StatusNeededRestart}

func (s *Resource) allStatistics(c *rest.Call) (AllStatistics, error) {
	return s.statistics(c, func(*farm.Farm) bool { return true })
}

// statisticsOf returns a handler like allStatistics for one module.
func (s *Resource) statisticsOf(of farms.Module) func(*rest.Call) (AllStatistics, error) {
	return func(c *rest.Call) (AllStatistics, error) {
		return s.statistics(c, func(f *farm.Farm) bool { return farms.ModuleOf(f) == of })
	}
}

// statistics returns the statistics of the farms that match, that the caller sees, and that
// meant selects.
func (s *Resource) statistics(c *rest.Call, meant func(*farm.Farm) bool) (AllStatistics, error) {
	if _, err := rest.OneOf(c, "status", farmStatuses); err != nil {
		return AllStatistics{}, err
	}
	if _, err := rest.OneOf(c, "profile", farms.ProfileWords()); err != nil {
		return AllStatistics{}, err
	}
	var shown []farm.Farm
	for _, f := range c.Farms() {
		if meant(&f) {
			shown = append(shown, f)
		}
	}
	t := s.tally(c, shown)
	out := AllStatistics{Description: "List farms statistics", Warning: t.warning}
	var err error
	out.Farms, out.Total, err = rest.Pick(c, len(shown), func(i int) FarmStatistics { return s.farmStatistics(t, &shown[i]) })
	return out, err
}

func (s *Resource) farmStatistics(t tally, f *farm.Farm) FarmStatistics {
	sum := t.farm(f)
	out := FarmStatistics{FarmItem: t.now.Item(f), Established: sum.Established, Pending: sum.Pending, Queued: sum.Queued, Counters: farmCounters(f, sum)}
	if s.deps.Latency != nil {
		if l, known := s.deps.Latency(f.ID); known {
			out.P50, out.P99 = &l.P50, &l.P99
		}
	}
	return out
}

// BackendCounters are the counters of a backend since it was created.
type BackendCounters struct {
	Requests        uint64    `json:"requests"`
	Responses       Responses `json:"responses"`
	BytesIn         uint64    `json:"bytes_in" doc:"Bytes from the backend"`
	BytesOut        uint64    `json:"bytes_out" doc:"Bytes to the backend"`
	Connects        uint64    `json:"connects"`
	ConnectFailures uint64    `json:"connect_failures"`
	Reuses          uint64    `json:"reuses" doc:"Requests sent over a reused connection"`
	Retries         uint64    `json:"retries"`
	Resets          uint64    `json:"resets"`
	BadResponses    uint64    `json:"bad_responses"`
	Timeouts        uint64    `json:"timeouts"`
	Upgrades        uint64    `json:"upgrades"`
	Ejections       uint64    `json:"ejections" doc:"Number of ejections because of failed or slow responses"`
	PacketsIn       uint64    `json:"packets_in" doc:"Datagrams from the backend; packets for farms in the kernel"`
	PacketsOut      uint64    `json:"packets_out" doc:"Datagrams to the backend; packets for farms in the kernel"`
	ConnectTime     float64   `json:"connect_time" doc:"Mean connect time, in seconds"`
	ResponseTime    float64   `json:"response_time" doc:"Mean time until the response head, in seconds"`
}

func backendCounters(b stats.Backend) BackendCounters {
	final := b.Responses[1] + b.Responses[2] + b.Responses[3] + b.Responses[4]
	return BackendCounters{
		Requests: b.Requests, Responses: responses(b.Responses), BytesIn: b.BytesIn, BytesOut: b.BytesOut,
		Connects: b.Connects, ConnectFailures: b.ConnectFailures, Reuses: b.Reuses, Retries: b.Retries,
		Resets: b.Resets, BadResponses: b.BadResponses, Timeouts: b.Timeouts, Upgrades: b.Upgrades, Ejections: b.Ejections,
		PacketsIn: b.PacketsIn, PacketsOut: b.PacketsOut,
		ConnectTime: meanSeconds(b.ConnectNanos, b.Connects), ResponseTime: meanSeconds(b.ResponseNanos, final),
	}
}

func meanSeconds(nanos, count uint64) float64 {
	if count == 0 {
		return 0
	}
	return float64(nanos) / float64(count) / 1e9
}

// BackendStatistics is a backend in statistics. Status is omitted while nothing is known
// about the backend.
type BackendStatistics struct {
	ID      int         `json:"id"`
	Service string      `json:"service,omitempty" doc:"Absent in l4xnat farms"`
	IP      string      `json:"ip"`
	Port    *uint16     `json:"port" doc:"null if a backend of an l4xnat farm keeps the client's port"`
	Alias   string      `json:"alias,omitempty" doc:"Own alias, or the alias of its address"`
	Status  farm.Status `json:"status,omitempty"`
	state.BackendState
	Problem     string            `json:"problem,omitempty" doc:"Reason why a reachable backend gets no traffic"`
	Established uint64            `json:"established" doc:"Requests in flight; for an l4xnat farm, connections and flows"`
	Pending     uint64            `json:"pending" doc:"Connection attempts in progress"`
	Counters    BackendCounters   `json:"counters"`
	Resolution  *state.Resolution `json:"resolution,omitempty" doc:"For a backend with a host name"`
}

// FarmDetailStatistics is the response about one farm or one of its services.
type FarmDetailStatistics struct {
	Description   string              `json:"description"`
	Backends      []BackendStatistics `json:"backends"`
	Sessions      []state.Session     `json:"sessions"`
	TotalSessions int                 `json:"total_sessions" doc:"Total number; at most 1000 are listed"`
	Farm          *FarmStatistics     `json:"farm,omitempty"`
	Warning       string              `json:"warning,omitempty" doc:"Unknown information at the moment"`
}

func (s *Resource) oneFarmStatistics(c *rest.Call) (FarmDetailStatistics, error) {
	f, err := c.Farm()
	if err != nil {
		return FarmDetailStatistics{}, err
	}
	t := s.tally(c, []farm.Farm{*f})
	out := FarmDetailStatistics{Description: "Get statistics of farm " + f.Name, Backends: []BackendStatistics{}, Warning: t.warning}
	for _, g := range f.Groups() {
		out.Backends = append(out.Backends, s.backendStatistics(c, t, g)...)
	}
	out.Backends = rest.Matching(c, out.Backends)
	whole := s.farmStatistics(t, f)
	out.Farm = &whole
	return out, s.addSessions(c, &out, f, "")
}

func (s *Resource) serviceStatistics(c *rest.Call) (FarmDetailStatistics, error) {
	g, err := c.Group()
	if err != nil {
		return FarmDetailStatistics{}, err
	}
	out := FarmDetailStatistics{
		Description: "Get statistics of " + g.String(),
		Backends:    rest.Matching(c, s.backendStatistics(c, s.tally(c, nil), g)),
	}
	return out, s.addSessions(c, &out, g.Farm, g.Name())
}

func (s *Resource) backendStatistics(c *rest.Call, t tally, g farm.Group) []BackendStatistics {
	var out []BackendStatistics
	known, list := state.Aliases(c), g.Backends()
	for i, number := range g.Numbers() {
		b := &list[i]
		sum := t.backend(g.Farm, b.ID)
		r := s.deps.State.Resolution(g, i)
		out = append(out, BackendStatistics{
			ID: number, Service: g.Name(), IP: b.ShownAddress(), Port: rest.OrNull(b.Port), Alias: known.Called(b), Resolution: r,
			Status:       farmstate.InStatistics(farmstate.In(g, i, s.deps.Health)),
			BackendState: s.deps.State.BackendState(g, i),
			Problem:      cmp.Or(s.deps.State.BackendProblem(c, b), state.NameProblem(b, r)),
			Established:  sum.Established, Pending: sum.Pending, Counters: backendCounters(sum),
		})
	}
	return out
}

// addSessions adds the sessions of a farm, or of one service.
func (s *Resource) addSessions(c *rest.Call, out *FarmDetailStatistics, f *farm.Farm, service string) error {
	out.Sessions = []state.Session{}
	if s.deps.Sessions == nil {
		return nil
	}
	sessions, total, err := s.deps.Sessions(c.Context, f, service)
	if err != nil {
		return err
	}
	out.Sessions, out.TotalSessions = rest.Matching(c, sessions), total
	return nil
}

// tally is the source of counters for one response: the engine's segment, and netd for
// kernel farms.
type tally struct {
	now     *state.Moment
	engine  Counters
	kernel  stats.Traffic
	warning string
}

// tally queries netd once if one of the farms is a kernel farm. If netd does not respond,
// the counters of those farms are zero, with a warning.
func (s *Resource) tally(c *rest.Call, farms []farm.Farm) tally {
	t := tally{now: s.deps.State.Now(c), engine: s.deps.Counters}
	if s.deps.Traffic == nil || !slices.ContainsFunc(farms, func(f farm.Farm) bool { return f.InKernel() }) {
		return t
	}
	var err error
	if t.kernel, err = s.deps.Traffic(c.Context); err != nil {
		s.deps.Log.Debug("counters of the kernel not shown", "cause", err)
		t.warning = "netd does not answer: counters of farms the kernel carries are not known"
	}
	return t
}

func (t tally) farm(f *farm.Farm) stats.Farm {
	if f.InKernel() {
		return t.kernel.Farms[f.ID]
	}
	return t.engine.SumFarm(f.ID)
}

func (t tally) backend(f *farm.Farm, id uint32) stats.Backend {
	if f.InKernel() {
		return t.kernel.Backends[id]
	}
	return t.engine.SumBackend(id)
}
