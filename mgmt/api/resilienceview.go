package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// Resilience is what a service does about backends that are full or fail.
type Resilience struct {
	Queue        uint16       `json:"queue" doc:"Exchanges that may wait while all usable backends are at their connection_limit; 0: none"`
	QueueTimeout farm.Seconds `json:"queue_timeout,omitempty" doc:"Only with queue: seconds an exchange waits at most"`

	RetryOn     []farm.RetryCondition `json:"retry_on" doc:"Failed tries that go on to another backend, beside connects"`
	Retries     uint8                 `json:"retries,omitempty" doc:"Only with retry_on"`
	RetryBudget uint8                 `json:"retry_budget,omitempty" doc:"Only with retry_on: percent of requests"`
	RetryUnsafe string                `json:"retry_unsafe,omitempty" enum:"true,false" doc:"Only with retry_on"`
}

func resilience(v *farm.Service) Resilience {
	out := Resilience{Queue: v.Queue, RetryOn: orEmpty(v.RetryOn)}
	if v.Queue != 0 {
		out.QueueTimeout = cmp.Or(v.QueueTimeout, farm.DefaultQueueTimeout)
	}
	if len(v.RetryOn) > 0 {
		out.Retries, out.RetryBudget = cmp.Or(v.Retries, farm.DefaultRetries), cmp.Or(v.RetryBudget, farm.DefaultRetryBudget)
		out.RetryUnsafe = truth(v.RetryUnsafe)
	}
	return out
}
