package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/farm"
)

type responses struct {
	Success     uint64 `json:"2xx"`
	Redirection uint64 `json:"3xx"`
	Client      uint64 `json:"4xx"`
	Server      uint64 `json:"5xx"`
}

// counted is a farm or backend in statistics.
type counted struct {
	FarmName, Service, IP, Status string
	Profile, Problem              string
	Resolution                    *resolution
	ID                            int
	Port                          *int
	Established, Pending, Queued  uint64
	Counters                      struct {
		Connections  uint64 // of a farm
		Connects     uint64 // of a backend
		Failures     uint64 `json:"connect_failures"`
		Requests     uint64
		Responses    responses
		BytesIn      uint64  `json:"bytes_in"`
		BytesOut     uint64  `json:"bytes_out"`
		PacketsIn    uint64  `json:"packets_in"`
		PacketsOut   uint64  `json:"packets_out"`
		ResponseTime float64 `json:"response_time"`
	}
}

func (v counted) key() string { return fmt.Sprintf("%s/%s/%d", v.FarmName, v.Service, v.ID) }

// connections reports whether the counts are connections instead of requests.
func (v counted) connections() bool {
	return profileCalled(v.Profile).Carries() == farm.TrafficConnections
}

// events returns the count for rates: requests, or layer-4 connections.
func (v counted) events() uint64 {
	if v.connections() {
		return v.Counters.Connections + v.Counters.Connects // only one of them is counted
	}
	return v.Counters.Requests
}

func statsCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats [FARM]", Short: "Show the traffic of all farms, or of the backends of one",
		Example: "  sluice stats\n  sluice stats shop\n  sluice stats --watch\n  sluice stats shop --watch=1s",
		Args:    command.AtMost(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	intervalFlag(cmd)
	var last *sample // of the previous refresh
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		path := "/stats/farms"
		if len(args) == 1 {
			if path, err = client.Path("stats", "farms", args[0], "backends"); err != nil {
				return err
			}
		}
		last, err = takeSample(c, cmd, path, last)
		return err
	}
	return cmd
}

// intervalFlag adds the obsolete spelling of --watch=TIME.
func intervalFlag(cmd *cobra.Command) {
	cmd.Flags().Duration("interval", 2*time.Second, "refresh interval, same as --watch=TIME")
	cmd.Flags().Lookup("interval").Hidden = true
}

// sample holds the counts of one refresh.
type sample struct {
	at     time.Time
	events map[string]uint64
}

// takeSample makes one request and prints the result, with rates since the previous one.
func takeSample(c *command.Line, cmd *cobra.Command, path string, last *sample) (*sample, error) {
	a, err := c.Get(cmd.Context(), path)
	if err != nil || c.JSON {
		return nil, c.FinishJSON(cmd, a, err)
	}
	var body struct {
		Farms, Backends []counted
		Farm            counted
		Warning         string
	}
	if err := a.Decode(&body); err != nil {
		return nil, err
	}
	command.Warn(cmd, body.Warning)
	for i := range body.Backends {
		body.Backends[i].Profile = body.Farm.Profile
	}
	now := &sample{at: time.Now(), events: map[string]uint64{}}
	for _, v := range append(body.Farms, body.Backends...) {
		now.events[v.key()] = v.events()
	}
	switch {
	case path == "/stats/farms":
		return now, c.Print(cmd, farmStats(body.Farms, last, now))
	case body.Farm.connections():
		return now, c.Print(cmd, l4BackendStats(body.Backends, last, now))
	}
	return now, c.Print(cmd, backendStats(body.Backends, last, now))
}

// farmStats lists farms. It has connection columns if a layer-4 farm, which has no requests,
// is included.
func farmStats(farms []counted, last, now *sample) *show.Sheet {
	heading := []string{"FARM", "STATUS", "ESTABLISHED", "PENDING", "QUEUED", "REQUESTS", "REQ/S", "2XX", "3XX", "4XX", "5XX", "IN", "OUT"}
	mixed := slices.ContainsFunc(farms, counted.connections)
	if mixed {
		heading = slices.Insert(heading, 4, "CONNECTIONS", "CONN/S")
	}
	s := show.NewSheet(heading...)
	for _, v := range farms {
		r, in, out := v.Counters.Responses, show.Size(v.Counters.BytesIn), show.Size(v.Counters.BytesOut)
		row := []any{v.FarmName, v.Status, v.Established, v.Pending, v.Queued, v.Counters.Requests, rate(v, last, now),
			r.Success, r.Redirection, r.Client, r.Server, in, out}
		switch {
		case v.connections():
			row = []any{v.FarmName, v.Status, v.Established, v.Pending, v.Counters.Connections,
				rate(v, last, now), nil, nil, nil, nil, nil, nil, nil, in, out}
		case mixed:
			row = slices.Insert(row, 4, any(v.Counters.Connections), nil)
		}
		s.Add(row...)
	}
	if mixed {
		return s.AlignRight(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	}
	return s.AlignRight(6, 11, 12)
}

func l4BackendStats(backends []counted, last, now *sample) *show.Sheet {
	s := show.NewSheet("ID", "STATUS", "IP", "PORT", "ESTABLISHED", "PENDING", "CONNECTIONS", "CONN/S", "FAILED", "IN", "OUT", "PACKETS IN", "PACKETS OUT")
	for _, v := range backends {
		n := v.Counters
		s.Add(v.ID, v.Status, shownAddress(v.IP, v.Resolution), command.Optional(v.Port), v.Established, v.Pending,
			n.Connects, rate(v, last, now), n.Failures,
			show.Size(n.BytesIn), show.Size(n.BytesOut), n.PacketsIn, n.PacketsOut)
	}
	return s.AlignRight(3, 7, 9, 10)
}

func backendStats(backends []counted, last, now *sample) *show.Sheet {
	s := show.NewSheet("SERVICE", "ID", "STATUS", "IP", "PORT", "ESTABLISHED", "PENDING", "REQUESTS", "REQ/S", "2XX", "3XX", "4XX", "5XX", "RESPONSE")
	for _, v := range backends {
		r := v.Counters.Responses
		if strings.HasPrefix(v.Problem, "ejected") {
			v.Status = "ejected" // more specific than down
		}
		s.Add(v.Service, v.ID, v.Status, shownAddress(v.IP, v.Resolution), command.Optional(v.Port), v.Established,
			v.Pending, v.Counters.Requests, rate(v, last, now),
			r.Success, r.Redirection, r.Client, r.Server, mean(v.Counters.ResponseTime))
	}
	return s.AlignRight(8, 13)
}

// rate returns the requests or connections per second between two samples, or nil for the
// first one and after a counter reset.
func rate(v counted, last, now *sample) any {
	if last == nil {
		return nil
	}
	before, known := last.events[v.key()]
	span := now.at.Sub(last.at).Seconds()
	if !known || v.events() < before || span <= 0 {
		return nil
	}
	return fmt.Sprintf("%.1f", float64(v.events()-before)/span)
}

func mean(seconds float64) any {
	if seconds == 0 {
		return nil
	}
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}
