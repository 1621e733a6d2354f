package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// Resilience is what a service does about backends that are full or fail.
type Resilience struct {
	Queue        uint16       `json:"queue" doc:"Exchanges that may wait while all usable backends are at their connection_limit; 0: none"`
	QueueTimeout farm.Seconds `json:"queue_timeout,omitempty" doc:"Only with queue: seconds an exchange waits at most"`
}

func resilience(v *farm.Service) Resilience {
	out := Resilience{Queue: v.Queue}
	if v.Queue != 0 {
		out.QueueTimeout = cmp.Or(v.QueueTimeout, farm.DefaultQueueTimeout)
	}
	return out
}
