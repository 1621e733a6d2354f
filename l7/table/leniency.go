package table

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// leniencies maps the configured deviations.
var leniencies = map[farm.Leniency]http1.Leniency{
	farm.LenientAll:        ^http1.Leniency(0),
	farm.LenientCoding:     http1.LenientCoding,
	farm.LenientIdentity:   http1.LenientIdentity,
	farm.LenientChunkSize:  http1.LenientChunkSize,
	farm.LenientStatus:     http1.LenientStatus,
	farm.LenientStatusLine: http1.LenientStatusLine,
	farm.LenientLineEnd:    http1.LenientLineEnd,
	farm.LenientNameBlank:  http1.LenientNameBlank,
	farm.LenientNameByte:   http1.LenientNameByte,
	farm.LenientControl:    http1.LenientControl,
	farm.LenientConnection: http1.LenientConnection,
}

// newLeniency returns the set of deviations that a service accepts.
func newLeniency(words []farm.Leniency) (l http1.Leniency) {
	for _, word := range words {
		l |= leniencies[word]
	}
	return l
}
