package timeseries

import "math"

// A value is an unsigned 16-bit float with 6 bits of exponent and 10 of mantissa, from
// 2⁻²⁰ to 2⁴⁴. Smaller values become 0, larger ones the maximum.
const (
	mantissaBits = 10
	lowest       = -20 // exponent of the smallest value
	unknown      = math.MaxUint16
	largest      = unknown - 1

	mantissa64 = 52   // bits of a float64
	bias64     = 1023 // of its exponent
)

// encode rounds to the nearest value. NaN becomes unknown.
func encode(v float64) uint16 {
	if math.IsNaN(v) {
		return unknown
	}
	const cut = mantissa64 - mantissaBits
	rounded := math.Float64bits(max(v, 0))>>(cut-1) + 1
	code := int64(rounded>>1) - (bias64+lowest)<<mantissaBits
	if code <= 0 {
		return 0
	}
	return uint16(min(code, largest))
}

// decode returns NaN for unknown.
func decode(code uint16) float64 {
	switch code {
	case unknown:
		return math.NaN()
	case 0:
		return 0
	}
	const cut = mantissa64 - mantissaBits
	return math.Float64frombits((uint64(code) + (bias64+lowest)<<mantissaBits) << cut)
}
