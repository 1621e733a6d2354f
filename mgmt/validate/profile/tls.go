package profile

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// MaxCertificates is the maximum number of certificates of a farm.
const MaxCertificates = 1000

// CertificatesRule returns the field of the certificates of a TLS listener. It has a meaning under
// the condition.
func CertificatesRule(o *field.Condition) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: "certificates", Hints: field.Basic(field.AtTLS, "Certificates").Costs(field.CostConnections), Kind: field.List, Words: true, Format: "X.pem", Null: true, Max: MaxCertificates, MaxLen: format.MaxCertificate, Check: format.Certificate, Canon: format.CanonCertificate,
			Must: "the name of a certificate", MustList: "a list of names of certificates", Unset: field.ListValue(farm.DefaultTLS().Certificates),
			Only: o, About: "Certificates in order of preference: the first one matching the SNI name is used, otherwise the first of the list."},
		Get: func(f *farm.Farm) field.Value { return field.ListValue(ReadTLS(f).Certificates) },
		Set: OnTLS(setCertificates),
	}
}

func setCertificates(t *farm.TLS, v field.Value) {
	if t.Certificates = v.List(); len(v.List()) == 0 {
		t.Certificates = farm.DefaultTLS().Certificates
	}
}

// OnTLS adapts a setter to https farms.
func OnTLS(set func(*farm.TLS, field.Value)) func(*farm.Farm, field.Value) {
	return func(f *farm.Farm, v field.Value) { set(f.ListenerTLS(), v) }
}

// ReadTLS returns the settings to read; for an http farm, the defaults.
func ReadTLS(f *farm.Farm) *farm.TLS {
	return cmp.Or(f.ListenerTLS(), farm.DefaultTLS())
}
