package httpfarm

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// directives are fields of Zevenet's core without equivalent in an http farm. Since clients
// send whole objects, the value that Sluice implements anyway is accepted. Any other value
// is rejected with the reason. They are neither stored nor returned.
var directives = []field.Field[farm.Farm]{
	directive("threads", field.Advanced(field.AtLimits, "Threads"), nil,
		"All farms share the event loops of the engine, one per CPU."),
	directive("loglevel", field.Advanced(field.AtLogging, "Log level"), nil,
		"Use logs for the farm's access log, and log_level of /system/global for messages of the API."),
	directive("control", field.Advanced(field.AtAccess, "Control socket"), nil,
		"The engine has no control socket; use the REST API."),
	directive("certdir", field.Advanced(field.AtTLS, "Certificate directory"), nil,
		"The appliance stores certificates; list them in certificates."),
	directive("dhparams", field.Advanced(field.AtTLS, "DH parameters"), nil,
		"Key exchange uses only elliptic curves and post-quantum groups (see ecdhcurve), never finite-field DH."),
	directive("sslhonorcipherorder", field.Advanced(field.AtTLS, "Cipher order"), []string{"false", "true", "0", "1"},
		"Sluice sets the order, with AES or ChaCha20 first according to the client's preference."),
	directive("sslallowclientrenegotiation", field.Advanced(field.AtTLS, "Renegotiation"), []string{"false", "0"},
		"Clients never renegotiate a connection (RFC 9325, 3.5)."),
	directive("forwardsni", field.Advanced(field.AtTLS, "Forward SNI"), []string{"true", "1"},
		"TLS backends receive the Host of each request as SNI name, or httpsb_name of their service."),
}

// directive returns such a field. It accepts blank, null, and the given words.
func directive(name string, h field.Hints, words []string, reason string) field.Field[farm.Farm] {
	must := "blank: it is not applicable"
	if len(words) > 0 {
		must = "blank or " + strings.Join(words, ", ") + ": it is not applicable"
	}
	return field.Field[farm.Farm]{Rule: field.Rule{
		Sample: append(slices.Clone(words), "")[0],
		Name:   name, Hints: h, Kind: field.Text, Blank: true, Null: true, MaxLen: format.MaxName,
		Normalize: map[string]string{"true": "true", "false": "false"}, // booleans are accepted
		Must:      must, About: "Not applicable. " + reason,
		Check: func(s string) string {
			if slices.Contains(words, s) {
				return ""
			}
			return reason
		},
	}}
}
