package validate

import "github.com/sluicelb/sluice/core/farm"

// splitFields are the weight of a service among its neighbours. 0 is a weight,
// so unset is a number nobody can send.
var splitFields = []field[farm.Service]{
	{
		rule: rule{name: "split", hints: advanced(atMatching, "Share of requests"), bare: leftOut, kind: kindNumber, max: farm.MaxSplit, null: true, unset: numberValue(-1),
			about: "Weight with which the service shares requests with services next to it in the list that have one, too: of those that match one is drawn, a client with a session or cookie stays. 0 takes only such clients. Unset shares nothing."},
		get: func(s *farm.Service) Value {
			if s.Split == nil {
				return numberValue(-1)
			}
			return numberValue(int64(*s.Split))
		},
		set: func(s *farm.Service, v Value) {
			s.Split = nil
			if !v.Null() {
				n := uint8(v.number)
				s.Split = &n
			}
		},
	},
}
