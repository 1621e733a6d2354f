package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

const (
	// missedEvery is how often a watcher is told what it missed, aliveEvery how
	// often it hears something at least, traceWrite how long it may take a line.
	missedEvery = time.Second
	aliveEvery  = 15 * time.Second
	traceWrite  = 10 * time.Second
)

// eventStream is the content of a stream of events (HTML, section 9.2).
const eventStream = "text/event-stream"

func (s *Server) traceOperations() []*operation {
	o := &operation{method: get, path: "/farms/{farm}/trace", needs: rbac.TraceShow, summary: "Watch the exchanges of a farm", success: http.StatusOK}
	for _, name := range accesslog.Conditions() {
		o.with(name, "Only exchanges with this "+name)
	}
	o.streams(s.traceFarm, "Exchanges as they end", "each exchange is an event whose data is an object, as a line of an access log; "+
		"an event called missed tells how many were not shown")
	return []*operation{o}
}

// streams makes the answer one without end.
func (o *operation) streams(handler func(*call) (func(huma.Context), error), what, about string) {
	o.register = func(api huma.API, s *Server) {
		huma.Register(api, o.documentedStream(api, what, about), func(ctx context.Context, in *input) (*output[func(huma.Context)], error) {
			return answer(ctx, s, o, in, handler)
		})
	}
}

// documentedStream is documented for an answer without end.
func (o *operation) documentedStream(api huma.API, what, about string) huma.Operation {
	d := o.documented(api, jsonContent)
	d.Description += " The answer is a stream: " + about + "."
	d.Responses[strconv.Itoa(o.success)] = &huma.Response{Description: what,
		Content: map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	return d
}

// traceFarm finds out what to watch, and returns what watches it.
func (s *Server) traceFarm(c *call) (func(huma.Context), error) {
	f, err := c.farm()
	if err != nil {
		return nil, err
	}
	if f.InKernel() {
		return nil, badRequest("the kernel carries the farm %s, and its connections leave no records: `sluice conn list %s` lists them", f.Name, f.Name)
	}
	if s.deps.Watch == nil {
		return nil, badRequest("exchanges cannot be watched: the engine leaves no records")
	}
	var conditions []string
	for _, q := range c.op.queries {
		if v := c.query(q.name); v != "" {
			conditions = append(conditions, q.name+"="+v)
		}
	}
	filter, err := accesslog.ParseFilter(conditions)
	if err != nil {
		return nil, badRequest("%s", err)
	}
	w, err := s.deps.Watch(f.ID, filter)
	if errors.Is(err, accesslog.ErrWatchers) {
		return nil, refuse(http.StatusServiceUnavailable, "%d watch already: wait until one has ended", accesslog.MaxWatchers)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx huma.Context) {
		defer w.Close()
		stream(humaecho.Unwrap(ctx).Response(), c.r, w, s.guard.Holds)
	}, nil
}

// events begins a stream of events, and returns what writes to it: false once the
// client is gone, or does not take what is written in time.
func events(out http.ResponseWriter) (send func(parts ...string) bool) {
	out.Header().Set("Content-Type", eventStream)
	out.Header().Set("X-Accel-Buffering", "no") // proxies must not collect it
	control := http.NewResponseController(out)
	return func(parts ...string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(traceWrite))
		for _, p := range parts {
			if _, err := out.Write([]byte(p)); err != nil {
				return false
			}
		}
		return control.Flush() == nil
	}
}

// stream writes what a watcher sees until one side or the credential ends. A client that does not
// take a line in time is cut off.
func stream(out http.ResponseWriter, r *http.Request, w *accesslog.Watcher, holds func(*http.Request) bool) {
	send := events(out)
	if !send(": watching\n\n") {
		return
	}
	missed, alive := time.NewTicker(missedEvery), time.NewTicker(aliveEvery)
	defer missed.Stop()
	defer alive.Stop()
	for going := true; going; {
		select {
		case <-r.Context().Done():
			return
		case line, open := <-w.Lines:
			going = open && send("data: ", string(line), "\n\n")
		case <-missed.C:
			if going = holds(r); !going {
				return
			}
			if n := w.Missed(); n > 0 {
				going = send("event: missed\ndata: ", strconv.FormatUint(n, 10), "\n\n")
			}
		case <-alive.C:
			going = send(": alive\n\n")
		}
	}
}
