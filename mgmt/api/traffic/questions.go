package traffic

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

const (
	// countTime is the default duration of a count in seconds, longestCount the maximum.
	countTime, longestCount = 5, 30
	// topQuestions is the default number of entries of each kind, mostQuestions the
	// maximum.
	topQuestions, mostQuestions = 10, 1000
)

func (s *Resource) questionOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/farms/{farm}/questions", rbac.TraceShow, "Count the queries of a farm for some seconds", s.countQuestions).
			With("seconds", fmt.Sprintf("Duration of the count in seconds, at most %d; defaults to %d", longestCount, countTime)).
			With("most", fmt.Sprintf("Maximum number of names, clients, codes and services to return, at most %d; defaults to %d", mostQuestions, topQuestions)),
	}
}

// Questions summarises the queries to a gslb farm in a period, most frequent first.
type Questions struct {
	Seconds   float64         `json:"seconds" doc:"Duration of the count"`
	Questions uint64          `json:"questions" doc:"Queries answered in that period"`
	Names     []AskedName     `json:"names" doc:"Queried names, most frequent first"`
	Clients   []AskingClient  `json:"clients" doc:"Clients, most frequent first"`
	Codes     []CountedCode   `json:"rcodes" doc:"Response codes"`
	Services  []CountedChoice `json:"services" doc:"Services that chose responses"`
}

// AskedName is a name and type with the number of its queries.
type AskedName struct {
	Name  string `json:"name" doc:"Name with a trailing dot"`
	Type  string `json:"type"`
	Times uint64 `json:"times" doc:"Number of queries for it"`
}

// AskingClient is a client with the number of its queries.
type AskingClient struct {
	Client string `json:"client" doc:"Client address, usually that of a resolver"`
	Times  uint64 `json:"times" doc:"Number of its queries"`
}

// CountedCode is a response code with the number of its responses.
type CountedCode struct {
	Code  string `json:"rcode" doc:"NOERROR, NXDOMAIN, REFUSED and so on"`
	Times uint64 `json:"times" doc:"Responses with the code"`
}

// CountedChoice is a service with the number of its selections.
type CountedChoice struct {
	Service string `json:"service"`
	Times   uint64 `json:"times" doc:"Responses chosen by the service"`
}

// countQuestions counts for the requested time, or until the client disconnects.
func (s *Resource) countQuestions(c *rest.Call) (rest.Object[Questions], error) {
	var none rest.Object[Questions]
	f, err := c.Farm()
	if err != nil {
		return none, err
	}
	seconds, err := c.Number("seconds", countTime, 1, longestCount)
	if err != nil {
		return none, err
	}
	most, err := c.Number("most", topQuestions, 1, mostQuestions)
	switch {
	case err != nil:
		return none, err
	case f.Carries() != farm.TrafficQueries:
		return none, rest.BadRequest("the farm %s has profile %s: only farms of profile gslb are asked questions", f.Name, f.Profile)
	case s.deps.Tally == nil:
		return none, rest.BadRequest("questions cannot be counted: the engine leaves no records")
	}
	leave, err := c.Seat(&s.watchers)
	if err != nil {
		return none, err
	}
	defer leave()
	tally, err := s.deps.Tally(f.ID)
	if errors.Is(err, accesslog.ErrWatchers) {
		return none, rest.Refuse(http.StatusServiceUnavailable, "%d watch already: wait until one has ended", accesslog.MaxWatchers)
	}
	if err != nil {
		return none, err
	}
	defer tally.Close()
	began := time.Now()
	select {
	case <-c.Request.Context().Done():
	case <-time.After(time.Duration(seconds) * time.Second):
	}
	if !c.Renew() || !c.Sees(f.ID) {
		return none, rest.Refuse(http.StatusForbidden, "you may not do this any more: your rights changed meanwhile")
	}
	return rest.Object[Questions]{Description: "Count the questions of farm " + f.Name, Params: questionsOf(tally.Sum(int(most)), time.Since(began))}, nil
}

func questionsOf(s accesslog.Sum, took time.Duration) Questions {
	out := Questions{Seconds: float64(took.Milliseconds()) / 1000, Questions: s.Questions,
		Names: []AskedName{}, Clients: []AskingClient{}, Codes: []CountedCode{}, Services: []CountedChoice{}}
	for _, n := range s.Names {
		out.Names = append(out.Names, AskedName{n.Key.Name, n.Key.Type, n.Times})
	}
	for _, n := range s.Clients {
		out.Clients = append(out.Clients, AskingClient{n.Key.String(), n.Times})
	}
	for _, n := range s.Rcodes {
		out.Codes = append(out.Codes, CountedCode{n.Key, n.Times})
	}
	for _, n := range s.Services {
		out.Services = append(out.Services, CountedChoice{n.Key, n.Times})
	}
	return out
}
