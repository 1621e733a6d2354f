package checks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/validate/check"
)

// HealthExplanation explains the state of a backend.
type HealthExplanation struct {
	Backend int         `json:"backend" doc:"Number of the backend in its service or farm"`
	Status  farm.Status `json:"status"`
	Reason  string      `json:"reason" doc:"Reason, in one sentence"`
	// Passive is nil if no passive result is available.
	Passive *farm.Status   `json:"passive,omitempty" doc:"Passive check result from connection attempts"`
	Probes  *ProbeFindings `json:"probes,omitempty" doc:"Health check result; absent if the backend is not checked"`
	// Addresses has one entry for each server of a host name that stands for several.
	Addresses []AddressHealth `json:"addresses,omitempty" doc:"Reasons for the state of each server, if the host name resolves to several"`
}

// AddressHealth explains the state of the server at one address of a name.
type AddressHealth struct {
	Address string         `json:"address"`
	Port    uint16         `json:"port"`
	Status  farm.Status    `json:"status"`
	Reason  string         `json:"reason" doc:"Reason, in one sentence"`
	Passive *farm.Status   `json:"passive,omitempty" doc:"Passive check result from connection attempts"`
	Probes  *ProbeFindings `json:"probes,omitempty" doc:"Health check result; absent if the address is not checked"`
}

// ProbeFindings holds the probe results of a backend.
type ProbeFindings struct {
	Check   string         `json:"check" doc:"Name of the health check; empty if the backend takes its status from a farm"`
	Farm    string         `json:"farm,omitempty" doc:"Farm of this appliance with that address; the backend takes its status and is not checked"`
	Verdict farm.Status    `json:"verdict" doc:"undefined before the first result"`
	Since   *time.Time     `json:"since,omitempty"`
	Against int            `json:"against" doc:"Consecutive results that contradict the current status"`
	Needed  int            `json:"needed" doc:"Number of consecutive results that change the status"`
	Next    *time.Time     `json:"next,omitempty" doc:"Time of the next query; absent during a query"`
	Results []ProbeOutcome `json:"results" doc:"Most recent entries, newest first"`
}

// ProbeOutcome is the result of one probe.
type ProbeOutcome struct {
	At      time.Time `json:"at"`
	Healthy string    `json:"healthy" enum:"true,false" doc:"true if the checked server is healthy"`
	Took    float64   `json:"took" doc:"Milliseconds"`
	Reason  string    `json:"reason,omitempty" doc:"Reason why the backend is not healthy"`
}

func outcome(r guardian.Result) ProbeOutcome {
	return ProbeOutcome{At: r.At.UTC().Truncate(time.Millisecond), Healthy: strconv.FormatBool(r.Reason == ""), Took: milliseconds(r.Took), Reason: r.Reason}
}

func milliseconds(d time.Duration) float64 { return math.Round(float64(d.Microseconds())) / 1000 }

func (s *Resource) explain(c *rest.Call) (rest.Object[HealthExplanation], error) {
	g, err := c.Group()
	if err != nil {
		return rest.Object[HealthExplanation]{}, err
	}
	at, err := rest.AtBackend(g, c.Param("backend"))
	if err != nil {
		return rest.Object[HealthExplanation]{}, err
	}
	b := &g.Backends()[at.Position]
	out := HealthExplanation{Backend: at.Number, Status: farmstate.In(g, at.Position, s.deps.Health)}
	s.look(c, g, b, &out)
	if b.Spreads() && b.Maintenance == farm.MaintenanceOff {
		s.addresses(c, g, b, &out)
	}
	return rest.Object[HealthExplanation]{Description: fmt.Sprintf("Explain the health of %s", at), Params: out}, nil
}

// look fills in the evidence about one backend and the reason derived from it.
func (s *Resource) look(c *rest.Call, g farm.Group, b *farm.Backend, out *HealthExplanation) {
	if s.deps.Passive != nil {
		passive := farm.Status(s.deps.Passive(b.ID).String())
		out.Passive = &passive
	}
	var unable string
	if s.deps.Guardian != nil {
		if f, is := s.deps.Guardian.Look(b.ID); is {
			out.Probes, unable = probes(f), f.Unable()
		}
	}
	out.Reason = c.Discreet(s.reason(c, g, b, out, unable))
	if p := out.Probes; p != nil && p.Farm != "" {
		if _, err := c.Visible(p.Farm); err != nil {
			p.Farm = "" // of another group
		}
	}
}

// addresses examines each server of a host name that stands for several. The backend itself
// is not probed, so the number of healthy servers is its reason.
func (s *Resource) addresses(c *rest.Call, g farm.Group, b *farm.Backend, out *HealthExplanation) {
	up := 0
	for _, part := range g.Parts(b.ID) {
		if part.Left {
			continue // the name no longer has this address
		}
		one := HealthExplanation{Status: farmstate.Backend(&part, s.deps.Health)}
		s.look(c, g, &part, &one)
		if one.Status != farm.StatusDown {
			up++
		}
		out.Addresses = append(out.Addresses, AddressHealth{Address: part.Addr.String(), Port: part.Port, Status: one.Status, Reason: one.Reason, Passive: one.Passive, Probes: one.Probes})
	}
	if n := len(out.Addresses); n > 0 {
		out.Passive, out.Reason = nil, fmt.Sprintf("%d of the %d addresses of %s are used, see addresses", up, n, b.Host)
	}
}

func probes(f guardian.Finding) *ProbeFindings {
	out := &ProbeFindings{Check: f.Check, Farm: f.Farm, Verdict: farm.Status(f.Verdict.String()), Against: f.Against, Needed: f.Needed, Results: []ProbeOutcome{}}
	if !f.Since.IsZero() {
		since := f.Since.UTC()
		out.Since = &since
	}
	if !f.Next.IsZero() {
		next := f.Next.UTC()
		out.Next = &next
	}
	for _, r := range f.Results {
		out.Results = append(out.Results, outcome(r))
	}
	return out
}

// reason sums up the evidence in one sentence. unable explains why the check could not run.
func (s *Resource) reason(c *rest.Call, g farm.Group, b *farm.Backend, e *HealthExplanation, unable string) string {
	switch problem := s.deps.State.BackendProblem(c, b); {
	case b.Maintenance != farm.MaintenanceOff:
		return "an operator took it out; it is not asked"
	case problem != "":
		return "it " + problem
	case b.Unresolved():
		return "its name has no address"
	case e.Passive != nil && *e.Passive == farm.StatusDown:
		return "connections to it failed; it is tried again until one succeeds"
	case e.Probes != nil && e.Probes.Farm != "":
		return "it is at the address of farm " + e.Probes.Farm + ", which clients can use"
	case unable != "":
		return "it stays as it was found; check " + e.Probes.Check + ": " + unable
	case e.Probes != nil && e.Probes.Verdict == farm.StatusUp:
		return "check " + e.Probes.Check + " succeeds"
	case e.Probes != nil && g.Farm.Carries() == farm.TrafficQueries:
		return "check " + e.Probes.Check + " has no result yet; clients are not told of it meanwhile, unless answer_unprobed is set"
	case e.Probes != nil:
		return "check " + e.Probes.Check + " has no result yet; it gets clients meanwhile"
	case g.Farm.Stopped:
		return "its farm is stopped; nobody asks it"
	}
	return s.unasked(c, g, e)
}

// unasked explains why no check probes a backend.
func (s *Resource) unasked(c *rest.Call, g farm.Group, e *HealthExplanation) string {
	why := "no health check is linked with " + g.String()
	if found, is := check.Named(c.Config, g.CheckedBy()); is {
		why = "check " + found.Name + " cannot ask it"
		switch {
		case found.Command == "":
			why += ": it has no command"
		case guardian.NeedsPort(found.Command):
			why += ": the farm has every port, so write one in the command instead of PORT"
		}
	}
	if e.Passive != nil && *e.Passive == farm.StatusUp {
		return "connections to it succeed; " + why
	}
	return "nothing is known of it, so it gets clients; " + why
}

// CheckTry is the result of a trial run of a check.
type CheckTry struct {
	Command string `json:"command" doc:"Command with passwords masked"`
	Host    string `json:"host"`
	Address string `json:"address" doc:"Address that was queried"`
	Port    uint16 `json:"port"`
	ProbeOutcome
	Said []string `json:"conversation" doc:"Protocol dialog, line by line"`
}

func (s *Resource) try(c *rest.Call) (rest.Object[CheckTry], error) {
	found, err := named(c)
	if err == nil {
		err = c.UseCheck(found.Name)
	}
	if err != nil {
		return rest.Object[CheckTry]{}, err
	}
	values, err := rest.Decode(c, &check.Try)
	if err != nil {
		return rest.Object[CheckTry]{}, err
	}
	var at check.Target
	if err := values.Apply(&at); err != nil {
		return rest.Object[CheckTry]{}, err
	}
	limit := time.Duration(check.TryTime(&found, at)) * time.Second
	c.MayTake(limit + 10*time.Second)
	ctx, cancel := context.WithTimeout(c.Context, limit+5*time.Second)
	defer cancel()
	switch {
	case found.Command == "":
		return rest.Object[CheckTry]{}, rest.BadRequest("the health check %s has no command", found.Name)
	case at.Port == 0 && guardian.NeedsPort(found.Command):
		return rest.Object[CheckTry]{}, rest.BadRequest("port is required: the command asks PORT")
	}
	to, err := s.target(ctx, at)
	if err != nil {
		return rest.Object[CheckTry]{}, err
	}
	result, said, err := s.deps.Guardian.Try(ctx, found.Command, to, limit)
	switch {
	case errors.Is(err, guardian.ErrBusy):
		return rest.Object[CheckTry]{}, rest.Refuse(http.StatusServiceUnavailable, "%s", err)
	case err != nil:
		return rest.Object[CheckTry]{}, rest.BadRequest("the command cannot be run: %s", err)
	case said == nil:
		said = []string{}
	}
	return rest.Object[CheckTry]{Description: "Try the health check " + found.Name, Params: CheckTry{
		Command: probe.Masked(found.Command), Host: at.Host, Address: to.Addr.String(), Port: at.Port, ProbeOutcome: outcome(result), Said: said}}, nil
}

// target resolves the host to probe.
func (s *Resource) target(ctx context.Context, at check.Target) (probe.Target, error) {
	if addr, err := netip.ParseAddr(at.Host); err == nil {
		return probe.Target{Addr: addr, Port: at.Port}, nil
	}
	list, err := s.deps.Lookup(ctx, at.Host)
	if err != nil || len(list) == 0 {
		return probe.Target{}, rest.BadRequest("host: the name %s leads to no address", rest.Quote(at.Host))
	}
	return probe.Target{Addr: list[0].Unmap(), Port: at.Port, Name: at.Host}, nil
}
