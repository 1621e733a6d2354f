package traffic

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// missedEvery is the interval of reports of missed records.
const missedEvery = time.Second

func (s *Resource) traceOperations() []*rest.Operation {
	o := rest.Stream("/farms/{farm}/trace", rbac.TraceShow, "Watch the requests of a farm", "Exchanges as they end",
		"each exchange is an event whose data is an object, as a line of an access log; an event called missed tells how many were not shown", s.traceFarm)
	for _, name := range accesslog.Conditions() {
		o.With(name, "Only requests with this "+name)
	}
	return []*rest.Operation{o}
}

// traceFarm reads the filter and returns the stream.
func (s *Resource) traceFarm(c *rest.Call) (rest.Streamed, error) {
	f, err := c.Farm()
	if err != nil {
		return nil, err
	}
	if f.InKernel() {
		return nil, rest.BadRequest("the kernel carries the farm %s, and its connections leave no records: `sluice conn list %s` lists them", f.Name, f.Name)
	}
	if s.deps.Watch == nil {
		return nil, rest.BadRequest("exchanges cannot be watched: the engine leaves no records")
	}
	var conditions []string
	for _, name := range accesslog.Conditions() {
		if v := c.Query(name); v != "" {
			conditions = append(conditions, name+"="+v)
		}
	}
	filter, err := accesslog.ParseFilter(conditions)
	if err != nil {
		return nil, rest.BadRequest("%s", err)
	}
	leave, err := c.Seat(&s.watchers)
	if err != nil {
		return nil, err
	}
	w, err := s.deps.Watch(f.ID, filter)
	if err != nil {
		leave()
	}
	if errors.Is(err, accesslog.ErrWatchers) {
		return nil, rest.Refuse(http.StatusServiceUnavailable, "%d watch already: wait until one has ended", accesslog.MaxWatchers)
	}
	if err != nil {
		return nil, err
	}
	return rest.Events(func(send rest.Sender) {
		defer leave()
		defer w.Close()
		follow(send, c, f.ID, w)
	}), nil
}

// follow streams the records of a farm until either side ends or the caller loses the
// right. A client too slow for a line is disconnected.
func follow(send rest.Sender, c *rest.Call, farm uint32, w *accesslog.Watcher) {
	if !send(": watching\n\n") {
		return
	}
	missed, alive := time.NewTicker(missedEvery), time.NewTicker(rest.AliveEvery)
	defer missed.Stop()
	defer alive.Stop()
	for going := true; going; {
		select {
		case <-c.Request.Context().Done():
			return
		case line, open := <-w.Lines:
			going = open && send("data: ", string(line), "\n\n")
		case <-missed.C:
			if going = c.Renew() && c.Sees(farm); !going {
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
