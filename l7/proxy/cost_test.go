package proxy_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// changed sets a field of the farm by its rule, publishes the farm, and returns the cost
// given by the schema.
func changed(t *testing.T, a *l7test.Appliance, name string, value any) field.Cost {
	t.Helper()
	sent, err := httpfarm.Update.Decode("", map[string]any{name: value})
	if err != nil {
		t.Fatal(err)
	}
	a.Farm = a.Farm.Clone()
	if err := sent.Apply(&a.Farm); err != nil {
		t.Fatal(err)
	}
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}, Certificates: a.Certificates})
	raw, err := json.Marshal(validate.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Cost field.Cost `json:"x-cost"`
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Defs["http_farm"].Properties[name].Cost
}

// A change without cost applies from the next request on, including existing connections.
func TestChangeOfNoCostHoldsForTheNextRequest(t *testing.T) {
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", l7test.NewNamed(t, "one").Addr)))
	if got := c.Send(l7test.Get("/")).Get(); got.StatusCode != 200 {
		t.Fatal(got.StatusCode)
	}
	if cost := changed(t, a, "maxrequest", httpfarm.MinHead); cost != field.CostNone {
		t.Errorf("the cost in the schema is %s", cost)
	}
	if got := c.Send(l7test.Get("/" + string(slices.Repeat([]byte("a"), httpfarm.MinHead)))).Get(); got.StatusCode != 414 {
		t.Errorf("a request that is too long now got %d", got.StatusCode)
	}
}

// A change that applies to new connections leaves existing ones unchanged.
func TestChangeForNewConnectionsHoldsForThoseAlone(t *testing.T) {
	a := l7test.New(t, 1)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), l7test.Service("web", l7test.NewNamed(t, "one").Addr))
	old := l7test.HTTP2Client(t, addr, true)
	get := func(want int) {
		t.Helper()
		r, err := old.Get("https://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		if _ = r.Body.Close(); r.ProtoMajor != want || r.StatusCode != http.StatusOK {
			t.Errorf("the existing connection answers %d by %s", r.StatusCode, r.Proto)
		}
	}
	get(2)
	if cost := changed(t, a, "disable_http2", true); cost != field.CostConnections {
		t.Errorf("the cost in the schema is %s", cost)
	}
	fresh, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, ServerName: "a.test", NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if got := fresh.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("a new connection speaks %s", got)
	}
	get(2)
}

// A change that costs a restart moves the listener.
func TestChangeOfTheCostOfARestartEndsConnections(t *testing.T) {
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", l7test.NewNamed(t, "one").Addr)))
	if got := c.Send(l7test.Get("/")).Get(); got.StatusCode != 200 {
		t.Fatal(got.StatusCode)
	}
	if cost := changed(t, a, "vport", fmt.Sprint(a.Listen(t, "127.0.0.1").Port())); cost != field.CostRestart {
		t.Errorf("the cost in the schema is %s", cost)
	}
	if rest := c.Rest(); rest != "" {
		t.Errorf("the existing connection got %q", rest)
	}
	if got := l7test.Dial(t, a.Farm.AddrPort().String()).Send(l7test.Get("/")).Get(); got.StatusCode != 200 {
		t.Errorf("at its new port the farm answers %d", got.StatusCode)
	}
}
