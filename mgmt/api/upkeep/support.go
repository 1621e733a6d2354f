package upkeep

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/support"
)

func (s *Resource) supportOperations() []*rest.Operation {
	if s.deps.Support == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Long(rest.Get, "/system/supportsave", rbac.SupportsaveDownload, "Download a diagnostics archive", s.supportsave),
	}
}

func (s *Resource) supportsave(c *rest.Call) (rest.Streamed, error) {
	c.MayTake(transferTime)
	b, err := s.deps.Support.Collect(c.Context)
	if errors.Is(err, support.ErrBusy) {
		return nil, rest.Refuse(http.StatusConflict, "%s", err)
	}
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	name := "supportsave-" + plain(host) + "-" + s.deps.Now().UTC().Format("20060102-150405") + ".tar.gz"
	return rest.Download(io.NopCloser(bytes.NewReader(b)), int64(len(b)), name), nil
}

// plain reduces a host name to characters safe in a file name.
func plain(host string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return -1
	}, []byte(host)))
}

func (s *Resource) scriptOperations() []*rest.Operation {
	if s.deps.Scripts == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/system/scripts", rbac.SystemMenu, "List scripts and what they did", s.listScripts).Filters(reflect.TypeFor[ScriptItem]()).OfAll(),
	}
}

// ScriptItem describes an event script.
type ScriptItem struct {
	Name    string      `json:"name"`
	Event   string      `json:"event" doc:"Events to report, or any"`
	Problem string      `json:"problem,omitempty" doc:"Reason why it is not called"`
	Running string      `json:"running" enum:"true,false"`
	Waiting int         `json:"waiting" doc:"Events still queued for the script"`
	Dropped int         `json:"dropped" doc:"Events dropped because the queue was full"`
	Calls   int         `json:"calls" doc:"Since mgmt started"`
	Failed  int         `json:"failed"`
	Runs    []ScriptRun `json:"runs" doc:"Most recent entries, newest first"`
}

// ScriptRun is one run of a script.
type ScriptRun struct {
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	Failure string    `json:"failure,omitempty"`
	Output  string    `json:"output" doc:"Beginning of its output"`
}

// ScriptList is the response about scripts.
type ScriptList struct {
	Description string       `json:"description"`
	Params      []ScriptItem `json:"params"`
	Dropped     int          `json:"dropped" doc:"Events dropped for all scripts because too many occurred at once"`
}

func (s *Resource) listScripts(c *rest.Call) (ScriptList, error) {
	list, lost := s.deps.Scripts.List()
	out := ScriptList{c.Summary(), []ScriptItem{}, lost}
	for _, v := range list {
		out.Params = append(out.Params, ScriptItem{v.Name, v.Event, v.Problem, rest.Truth(v.Running), v.Waiting, v.Lost, v.Calls, v.Failed, runs(v.Runs)})
	}
	out.Params = rest.Matching(c, out.Params)
	return out, nil
}

func runs(list []scripts.Run) []ScriptRun {
	out := []ScriptRun{}
	for _, r := range list {
		out = append(out, ScriptRun{string(r.Event), r.At, r.Took.Seconds(), r.Failure, r.Output})
	}
	return out
}
