package forward_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

// costs returns the cost of a change of each l4xnat field, from the schema.
func costs(t *testing.T) map[string]field.Cost {
	t.Helper()
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
	out := map[string]field.Cost{}
	for name, p := range schema.Defs["l4xnat_farm"].Properties {
		out[name] = p.Cost
	}
	return out
}

// The effect of changes on traffic corresponds to the schema. Existing connections continue
// unless the cost is a restart, and the change applies to them if there is no cost. It
// always applies to new ones.
func TestChangesCostAsDocumentedInTheSchema(t *testing.T) {
	for _, c := range []struct {
		field string
		value any
		cost  field.Cost
		// holds fails unless the change has the effect of its cost.
		holds func(t *testing.T, a *appliance, f farm.Farm, old net.Conn)
	}{
		{"grace", 60, field.CostNone, func(t *testing.T, a *appliance, f farm.Farm, old net.Conn) {
			f.Stopped = true
			a.publish(f)
			goesOn(t, old)
		}},
		{"proxyprotocol_out", "v1", field.CostConnections, func(t *testing.T, a *appliance, f farm.Farm, _ net.Conn) {
			if got := line(t, a.dial(f)); !strings.HasPrefix(got, "PROXY TCP4 ") {
				t.Errorf("a new connection begins with %q", got)
			}
		}},
		{"source", "127.0.0.7", field.CostConnections, nil},
		{"idle_timeout", 1, field.CostConnections, func(t *testing.T, a *appliance, f farm.Farm, _ net.Conn) { isOver(t, a.dial(f)) }},
		{"maxconnections", 1, field.CostConnections, func(t *testing.T, a *appliance, f farm.Farm, _ net.Conn) {
			if c, err := net.Dial("tcp", address(f)); err == nil {
				defer c.Close()
				isOver(t, c)
			}
		}},
		{"algorithm", "roundrobin", field.CostConnections, nil},
		{"vport", nil, field.CostRestart, nil},
		{"protocol", "ftp", field.CostRestart, nil},
		{"nattype", "dsr", field.CostRestart, nil},
		{"datapath", "kernel", field.CostRestart, nil},
	} {
		t.Run(c.field, func(t *testing.T) {
			if said := costs(t)[c.field]; said != c.cost {
				t.Errorf("the cost in the schema is %s, want %s", said, c.cost)
			}
			a := newAppliance(t, 1)
			f := a.farm(serve(t, echo).at())
			f.L4.DataPath = farm.DataPathAuto
			a.publish(f)
			old := a.dial(f)
			goesOn(t, old)
			if c.field == "vport" {
				c.value = fmt.Sprint(a.Listen(t, "127.0.0.1").Port())
			}
			sent, err := l4farm.Update.Decode("", map[string]any{c.field: c.value})
			if err != nil {
				t.Fatal(err)
			}
			changed := f.Clone()
			if err := sent.Apply(&changed); err != nil {
				t.Fatal(err)
			}
			a.publish(changed)
			if c.cost == field.CostRestart {
				isOver(t, old)
				return
			}
			goesOn(t, old)
			if c.holds != nil {
				c.holds(t, a, changed, old)
				goesOn(t, old)
			}
		})
	}
}

// goesOn fails unless the other side echoes.
func goesOn(t *testing.T, c net.Conn) {
	t.Helper()
	_, _ = io.WriteString(c, "ping\n")
	if got, err := bufio.NewReader(c).ReadString('\n'); err != nil || got != "ping\n" {
		t.Errorf("the connection gave %q, %v, want %q", got, err, "ping\n")
	}
}

// isOver fails unless the connection ends.
func isOver(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := io.ReadAll(c); len(got) > 0 {
		t.Errorf("the connection gave %q, %v", got, err)
	} else if slow, is := err.(net.Error); is && slow.Timeout() {
		t.Error("the connection continues")
	}
}
