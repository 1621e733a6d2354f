package validate

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// The bounds of what a service does about backends that are full or fail.
const (
	// MaxQueue is how many exchanges of a service may wait at most.
	MaxQueue = 65535
	// MaxQueueTimeout is how many seconds they may.
	MaxQueueTimeout = 3600
)

var resilienceFields = slices.Concat(queueFields)

// queueFields are what becomes of exchanges when all backends are full.
var queueFields = []field[farm.Service]{
	{
		rule: rule{name: "queue", kind: kindNumber, min: 0, max: MaxQueue, null: true,
			about: "How many exchanges may wait while all usable backends are at their connection_limit; 0 answers 503 at once."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.Queue)) },
		set: func(s *farm.Service, v Value) {
			if s.Queue = uint16(v.number); s.Queue == 0 {
				s.QueueTimeout = 0
			}
		},
	},
	{
		rule: rule{name: "queue_timeout", kind: kindNumber, min: 1, max: MaxQueueTimeout, null: true,
			about: "Seconds an exchange waits at most; 5 when unset. Only with queue."},
		get: func(s *farm.Service) Value { return numberValue(int64(s.QueueTimeout)) },
		set: func(s *farm.Service, v Value) {
			if s.Queue != 0 {
				s.QueueTimeout = farm.Seconds(v.number)
			}
		},
		needs: func(_ Values[farm.Service], s *farm.Service) string {
			if s.Queue != 0 {
				return ""
			}
			return "is allowed only while queue is not 0; send queue with it"
		},
	},
}
