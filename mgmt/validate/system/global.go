package system

import (
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Settings are settings of the appliance outside of the configuration, stored by the
// API.
var Settings = field.Table[resolve.Limits]{Fields: []field.Field[resolve.Limits]{
	{Rule: field.Rule{Name: "api_names", Hints: field.Basic(field.AtAddress, "API host names"), Kind: field.List, Words: true, Null: true, Max: 32, MaxLen: 253, Format: "host name", Must: "a host name", MustList: "a list of host names",
		About: "Additional host names that browsers may use for the API, besides the names in its certificate, the machine's host name with and without domain, and addresses."}},
	{Rule: field.Rule{Name: "resolve_min_ttl", Hints: field.Advanced(field.AtTimeouts, "Min. TTL of addresses").In(field.Seconds), Kind: field.Number, Min: 1, Max: 86400, Null: true,
		Default: field.NumberValue(int64(resolve.DefaultLimits.MinTTL.Seconds())),
		About:   "Minimum TTL used for the address of a backend's host name, in seconds, even if the name server returns less."}},
	{Rule: field.Rule{Name: "resolve_max_ttl", Hints: field.Advanced(field.AtTimeouts, "Max. TTL of addresses").In(field.Seconds), Kind: field.Number, Min: 1, Max: 86400, Null: true,
		Default: field.NumberValue(int64(resolve.DefaultLimits.MaxTTL.Seconds())),
		About:   "Maximum TTL used for the address of a backend's host name, in seconds."}},
	{Rule: field.Rule{Name: "resolve_gone_time", Hints: field.Advanced(field.AtTimeouts, "Keep stale addresses for").In(field.Seconds), Kind: field.Number, Min: 1, Max: int64(resolve.MostGone.Seconds()), Null: true,
		Default: field.NumberValue(int64(resolve.DefaultLimits.GoneTime.Seconds())),
		About:   "Time in seconds after which gslb services stop returning the last known addresses of a host name that no longer resolves, as they may have been reassigned."}},
	{Rule: field.Rule{Name: "session_timeout", Hints: field.Basic(field.AtAccess, "Session timeout").In(field.Minutes), Kind: field.Number, Min: 1, Max: 1440, Null: true,
		Default: field.NumberValue(30),
		About:   "Session idle timeout, in minutes."}},
	{Rule: field.Rule{Name: "log_level", Hints: field.Basic(field.AtLogging, "Log level"), Kind: field.Text, Values: []string{"debug", "info", "warn", "error"}, Null: true,
		About: "Log level of mgmt; defaults to SLUICE_LOG at startup, or info. The other processes always use that default."}},
	{Rule: field.Rule{Name: "le_renewal_timeout", Hints: field.Advanced(field.AtTimeouts, "Order timeout").In(field.Seconds), Kind: field.Number, Min: 30, Max: 3600, Null: true, Default: field.NumberValue(120),
		About: "Timeout for ordering or renewing a certificate, in seconds, not counting the wait for DNS records."}},
	{Rule: field.Rule{Name: "cors_devel_mode", Hints: field.Advanced(field.AtAccess, "Web UI development"), Kind: field.Bool, Null: true,
		About: "Allow pages from http and https origins at localhost, 127.0.0.0/8 and ::1 to use the API with a session cookie. For web interface development only: any program on the machine of a logged-in user could serve such a page."}},
	settledSetting("http_farm_stop_grace_time", "30", "Each farm has its own setting: grace, 30 seconds by default."),
	settledSetting("l4xnat_sip_params", "", "The kernel reads them when root loads nf_conntrack_sip. Set them in /etc/modprobe.d, e.g. options nf_conntrack_sip ports=5060."),
	settledSetting("arp_announce", "false", "Addresses of farms are announced when they appear on this machine, return or move to another interface, not every minute."),
	settledSetting("ssyncd", "false", "Sluice has no separate process for session replication."),
	settledSetting("duplicated_network", "false", "Sluice does not configure interfaces, so it cannot create duplicate networks."),
	settledSetting("proxy_new_generation", "true", "All http farms use one engine, which applies changes without a restart."),
	settledSetting("waf_assistant", "false", "There is no assistant."),
	{Rule: field.Rule{Name: "force", Hints: field.Advanced(field.AtSystem, "Force"), Kind: field.Bool, Null: true, About: "Accepted for compatibility; has no effect."}},
}}

// settledSetting returns the field of a setting of the family that has a fixed value here.
func settledSetting(name, value, reason string) field.Field[resolve.Limits] {
	must := "blank: it is not applicable"
	if value != "" {
		must = value + ", the only possible value"
	}
	return field.Field[resolve.Limits]{Rule: field.Rule{Name: name, Hints: field.Advanced(field.AtSystem, name),
		Kind: field.Text, Blank: true, Null: true, MaxLen: format.MaxName, Must: must,
		Normalize: map[string]string{"true": "true", "false": "false"}, Default: field.TextValue(value), Sample: value, About: "Not applicable. " + reason,
		Check: func(s string) string {
			if s == value {
				return ""
			}
			return reason
		},
	}}
}
