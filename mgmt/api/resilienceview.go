package api

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// Resilience is what a service does about backends that are full or fail.
type Resilience struct {
	Queue        uint16       `json:"queue" doc:"Exchanges that may wait while all usable backends are at their connection_limit; 0: none"`
	QueueTimeout farm.Seconds `json:"queue_timeout,omitempty" doc:"Only with queue: seconds an exchange waits at most"`

	RetryOn     []farm.RetryCondition `json:"retry_on" doc:"Failed tries that go on to another backend, beside connects"`
	Retries     uint8                 `json:"retries,omitempty" doc:"Only with retry_on"`
	RetryBudget uint8                 `json:"retry_budget,omitempty" doc:"Only with retry_on: percent of requests"`
	RetryUnsafe string                `json:"retry_unsafe,omitempty" enum:"true,false" doc:"Only with retry_on"`

	OutlierErrors  uint8        `json:"outlier_errors" doc:"Failures in a row after which a backend is ejected; 0: never"`
	OutlierTime    farm.Seconds `json:"outlier_time,omitempty" doc:"Only with outlier_errors"`
	OutlierPercent uint8        `json:"outlier_percent,omitempty" doc:"Only with outlier_errors"`

	SlowStart farm.Seconds `json:"slowstart" doc:"Seconds a backend that comes up takes to its full weight; 0: none"`
}

func resilience(v *farm.Service) Resilience {
	out := Resilience{Queue: v.Queue, RetryOn: orEmpty(v.RetryOn), OutlierErrors: v.OutlierErrors, SlowStart: v.SlowStart}
	if v.Queue != 0 {
		out.QueueTimeout = cmp.Or(v.QueueTimeout, farm.DefaultQueueTimeout)
	}
	if len(v.RetryOn) > 0 {
		out.Retries, out.RetryBudget = cmp.Or(v.Retries, farm.DefaultRetries), cmp.Or(v.RetryBudget, farm.DefaultRetryBudget)
		out.RetryUnsafe = truth(v.RetryUnsafe)
	}
	if v.OutlierErrors != 0 {
		out.OutlierTime, out.OutlierPercent = cmp.Or(v.OutlierTime, farm.DefaultOutlierTime), cmp.Or(v.OutlierPercent, farm.DefaultOutlierPercent)
	}
	return out
}

// backendProblem says why a backend that can be connected to gets no traffic.
func (s *Server) backendProblem(b *farm.Backend) string {
	if b.Maintenance != farm.MaintenanceOff {
		return ""
	}
	return s.told(b.ID)
}

func ejectedText(e health.Ejection) string {
	return fmt.Sprintf("ejected until %s because its answers failed, the last one: %s", e.Until.UTC().Format(time.RFC3339), e.Cause)
}
