package profile

import (
	"cmp"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// MaxTrusted bounds the trusted networks of a farm.
const MaxTrusted = 256

// Part locates the settings of one profile in a farm.
type Part[D any] struct {
	Edit func(*farm.Farm) *D // for changing; created if missing
	Read func(*farm.Farm) *D // for reading; the defaults if missing
	New  func() *D           // the initial settings
}

// Seconds returns the field of a time that a new farm has.
func Seconds[D any](in Part[D], name string, h field.Hints, about string, most int64,
	at func(*D) *farm.Seconds) field.Field[farm.Farm] {
	unset := *at(in.New())
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Number, Min: 1, Max: most, Null: true, About: about,
			Unset: field.NumberValue(int64(unset))},
		Get: func(f *farm.Farm) field.Value { return field.NumberValue(int64(*at(in.Read(f)))) },
		Set: func(f *farm.Farm, v field.Value) { *at(in.Edit(f)) = cmp.Or(farm.Seconds(v.Number()), unset) },
	}
}

// Bound returns the field of a number whose zero value means the default.
func Bound[D any, N ~uint16 | ~uint32 | ~uint64](in Part[D], name string, h field.Hints, about string, least,
	most int64, unset N, at func(*D) *N) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Number, Min: least, Max: most, Null: true, About: about,
			Unset: field.NumberValue(int64(unset))},
		Get: func(f *farm.Farm) field.Value { return field.NumberValue(int64(cmp.Or(*at(in.Read(f)), unset))) },
		Set: func(f *farm.Farm, v field.Value) { *at(in.Edit(f)) = field.OrZero(N(v.Number()), unset) },
	}
}

func Truth[D any](in Part[D], name string, h field.Hints, about string, at func(*D) *bool) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Bool, About: about},
		Get:  func(f *farm.Farm) field.Value { return field.BoolValue(*at(in.Read(f))) },
		Set:  func(f *farm.Farm, v field.Value) { *at(in.Edit(f)) = v.Bool() },
	}
}

// Word returns the field of a word that a new farm has.
func Word[D any, W ~string](in Part[D], name string, h field.Hints, about string, words []W,
	at func(*D) *W) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Text, Values: field.Texts(words), About: about,
			Unset: field.TextValue(string(*at(in.New())))},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(string(*at(in.Read(f)))) },
		Set: func(f *farm.Farm, v field.Value) { *at(in.Edit(f)) = W(v.Text()) },
	}
}

// Choice returns the field of a word whose zero value means the default.
func Choice[D any, W ~string](in Part[D], name string, h field.Hints, about string, words []W, unset W,
	normalize map[string]string, at func(*D) *W) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Text, Values: field.Texts(words), Null: true,
			Normalize: normalize, About: about, Unset: field.TextValue(string(unset))},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(string(cmp.Or(*at(in.Read(f)), unset))) },
		Set: func(f *farm.Farm, v field.Value) { *at(in.Edit(f)) = field.OrZero(W(v.Text()), unset) },
	}
}

// Networks returns the field of a list of networks.
func Networks[D any](in Part[D], name string, h field.Hints, about string,
	at func(*D) *[]netip.Prefix) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.List, Words: true, Format: "ip or ip/bits", Null: true, Max: MaxTrusted, MaxLen: 64, Check: format.Network, Canon: format.CanonNetwork,
			Must: "an address or network", MustList: "a list of addresses and networks", About: about},
		Get: func(f *farm.Farm) field.Value {
			var out []string
			for _, p := range *at(in.Read(f)) {
				out = append(out, format.NetworkText(p))
			}
			return field.ListValue(out)
		},
		Set: func(f *farm.Farm, v field.Value) {
			to := at(in.Edit(f))
			*to = nil
			for _, text := range v.List() {
				if p, err := format.ParseNetwork(text); err == nil {
					*to = append(*to, p)
				}
			}
		},
	}
}

// ByTrusted is the condition of trusted headers. The trusted addresses cannot be removed
// along with it, because that would change who is admitted.
func ByTrusted() *field.Condition {
	return (&field.Condition{On: []string{"trusted"}, Purpose: ", the addresses that may send such headers"}).Else(field.RejectBoth).AllowDefault()
}
