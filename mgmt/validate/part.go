package validate

import (
	"cmp"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// part locates the settings of one profile in a farm.
type part[D any] struct {
	of   func(*farm.Farm) *D // for changing; created if missing
	seen func(*farm.Farm) *D // for reading; the defaults if missing
	new  func() *D           // the initial settings
}

// secondsIn returns the field of a time that a new farm has.
func secondsIn[D any](in part[D], name string, h hints, about string, most int64, at func(*D) *farm.Seconds) field[farm.Farm] {
	unset := *at(in.new())
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindNumber, min: 1, max: most, null: true, about: about, unset: numberValue(int64(unset))},
		get:  func(f *farm.Farm) Value { return numberValue(int64(*at(in.seen(f)))) },
		set:  func(f *farm.Farm, v Value) { *at(in.of(f)) = cmp.Or(farm.Seconds(v.number), unset) },
	}
}

// boundIn returns the field of a number whose zero value means the default.
func boundIn[D any, N ~uint16 | ~uint32 | ~uint64](in part[D], name string, h hints, about string, least, most int64, unset N, at func(*D) *N) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindNumber, min: least, max: most, null: true, about: about, unset: numberValue(int64(unset))},
		get:  func(f *farm.Farm) Value { return numberValue(int64(cmp.Or(*at(in.seen(f)), unset))) },
		set:  func(f *farm.Farm, v Value) { *at(in.of(f)) = orZero(N(v.number), unset) },
	}
}

func truthIn[D any](in part[D], name string, h hints, about string, at func(*D) *bool) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindBool, about: about},
		get:  func(f *farm.Farm) Value { return boolValue(*at(in.seen(f))) },
		set:  func(f *farm.Farm, v Value) { *at(in.of(f)) = v.truth },
	}
}

// wordIn returns the field of a word that a new farm has.
func wordIn[D any, W ~string](in part[D], name string, h hints, about string, words []W, at func(*D) *W) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindText, values: texts(words), about: about, unset: textValue(string(*at(in.new())))},
		get:  func(f *farm.Farm) Value { return textValue(string(*at(in.seen(f)))) },
		set:  func(f *farm.Farm, v Value) { *at(in.of(f)) = W(v.text) },
	}
}

// choiceIn returns the field of a word whose zero value means the default.
func choiceIn[D any, W ~string](in part[D], name string, h hints, about string, words []W, unset W, normalize map[string]string, at func(*D) *W) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindText, values: texts(words), null: true, normalize: normalize, about: about, unset: textValue(string(unset))},
		get:  func(f *farm.Farm) Value { return textValue(string(cmp.Or(*at(in.seen(f)), unset))) },
		set:  func(f *farm.Farm, v Value) { *at(in.of(f)) = orZero(W(v.text), unset) },
	}
}

// networksIn returns the field of a list of networks.
func networksIn[D any](in part[D], name string, h hints, about string, at func(*D) *[]netip.Prefix) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindList, words: true, format: "ip or ip/bits", null: true, max: MaxTrusted, maxLen: 64, check: checkNetwork, canon: canonNetwork,
			must: "an address or network", musts: "a list of addresses and networks", about: about},
		get: func(f *farm.Farm) Value {
			var out []string
			for _, p := range *at(in.seen(f)) {
				out = append(out, NetworkText(p))
			}
			return listValue(out)
		},
		set: func(f *farm.Farm, v Value) {
			to := at(in.of(f))
			*to = nil
			for _, text := range v.list {
				if p, err := parseNetwork(text); err == nil {
					*to = append(*to, p)
				}
			}
		},
	}
}
