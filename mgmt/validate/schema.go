package validate

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// GlobalSettings are settings of the appliance outside of the configuration, stored by the
// API.
var GlobalSettings = Table[resolve.Limits]{fields: []field[resolve.Limits]{
	{rule: rule{name: "api_names", hints: basic(atAddress, "API host names"), kind: kindList, words: true, null: true, max: 32, maxLen: 253, format: "host name", must: "a host name", musts: "a list of host names",
		about: "Additional host names that browsers may use for the API, besides the names in its certificate, the machine's host name with and without domain, and addresses."}},
	{rule: rule{name: "resolve_min_ttl", hints: advanced(atTimeouts, "Min. TTL of addresses").in(inSeconds), kind: kindNumber, min: 1, max: 86400, null: true,
		acts:  numberValue(int64(resolve.DefaultLimits.MinTTL.Seconds())),
		about: "Minimum TTL used for the address of a backend's host name, in seconds, even if the name server returns less."}},
	{rule: rule{name: "resolve_max_ttl", hints: advanced(atTimeouts, "Max. TTL of addresses").in(inSeconds), kind: kindNumber, min: 1, max: 86400, null: true,
		acts:  numberValue(int64(resolve.DefaultLimits.MaxTTL.Seconds())),
		about: "Maximum TTL used for the address of a backend's host name, in seconds."}},
	{rule: rule{name: "resolve_gone_time", hints: advanced(atTimeouts, "Keep stale addresses for").in(inSeconds), kind: kindNumber, min: 1, max: int64(resolve.MostGone.Seconds()), null: true,
		acts:  numberValue(int64(resolve.DefaultLimits.GoneTime.Seconds())),
		about: "Time in seconds after which gslb services stop returning the last known addresses of a host name that no longer resolves, as they may have been reassigned."}},
	{rule: rule{name: "session_timeout", hints: basic(atAccess, "Session timeout").in(inMinutes), kind: kindNumber, min: 1, max: 1440, null: true,
		acts:  numberValue(30),
		about: "Session idle timeout, in minutes."}},
	{rule: rule{name: "log_level", hints: basic(atLogging, "Log level"), kind: kindText, values: []string{"debug", "info", "warn", "error"}, null: true,
		about: "Log level of mgmt; defaults to SLUICE_LOG at startup, or info. The other processes always use that default."}},
	{rule: rule{name: "le_renewal_timeout", hints: advanced(atTimeouts, "Order timeout").in(inSeconds), kind: kindNumber, min: 30, max: 3600, null: true, acts: numberValue(120),
		about: "Timeout for ordering or renewing a certificate, in seconds, not counting the wait for DNS records."}},
	{rule: rule{name: "cors_devel_mode", hints: advanced(atAccess, "Web UI development"), kind: kindBool, null: true,
		about: "Allow pages from http and https origins at localhost, 127.0.0.0/8 and ::1 to use the API with a session cookie. For web interface development only: any program on the machine of a logged-in user could serve such a page."}},
	settledSetting("http_farm_stop_grace_time", "30", "Each farm has its own setting: grace, 30 seconds by default."),
	settledSetting("l4xnat_sip_params", "", "The kernel reads them when root loads nf_conntrack_sip. Set them in /etc/modprobe.d, e.g. options nf_conntrack_sip ports=5060."),
	settledSetting("arp_announce", "false", "Addresses of farms are announced when they appear on this machine, return or move to another interface, not every minute."),
	settledSetting("ssyncd", "false", "Sluice has no separate process for session replication."),
	settledSetting("duplicated_network", "false", "Sluice does not configure interfaces, so it cannot create duplicate networks."),
	settledSetting("proxy_new_generation", "true", "All http farms use one engine, which applies changes without a restart."),
	settledSetting("waf_assistant", "false", "There is no assistant."),
	{rule: rule{name: "force", hints: advanced(atSystem, "Force"), kind: kindBool, null: true, about: "Accepted for compatibility; has no effect."}},
}}

// settledSetting returns the field of a setting of the family that has a fixed value here.
func settledSetting(name, value, reason string) field[resolve.Limits] {
	must := "blank: it is not applicable"
	if value != "" {
		must = value + ", the only possible value"
	}
	return field[resolve.Limits]{rule: rule{name: name, hints: advanced(atSystem, name), kind: kindText, blank: true, null: true, maxLen: MaxName, must: must,
		normalize: map[string]string{"true": "true", "false": "false"}, acts: textValue(value), sample: value, about: "Not applicable. " + reason,
		check: func(s string) string {
			if s == value {
				return ""
			}
			return reason
		},
	}}
}

// Schema returns a JSON Schema (2020-12) of every body about a configuration object, by
// name in $defs. It also contains data for forms: x-group, x-unit, x-advanced, x-cost,
// x-only, x-values (enum without alternative spellings), x-when (create or update, if only
// one accepts the field) and x-order (JSON objects are unordered).
func Schema() map[string]any {
	objects := map[string]any{
		"service":     object("A service of an http farm", ServiceCreate, ServiceUpdate),
		"maintenance": object("Maintenance of a backend", Maintenance),
		"header_add":  object("A header that is added", AddRequest.Rule), "header_remove": object("Headers that are removed", RemoveRequest.Rule),
		"header_replace": object("Headers that are changed", ReplaceRequest.Rule), "url_rewrite": object("A rewritten URL", Rewrites.Rule),
		"settings":     object("Settings of the appliance", GlobalSettings),
		"check":        object("Health check", CheckCreate, CheckUpdate),
		"gslb_service": object("A service of a gslb farm", DNSServiceCreate, DNSServiceUpdate),
		"gslb_zone":    object("A zone of a gslb farm", ZoneCreate, ZoneUpdate),
		"gslb_record":  object("A record of a zone", RecordCreate, RecordUpdate),
	}
	for _, p := range Profiles() {
		name, farms, backends := string(p.Name()), p.Farm(), p.Backend()
		objects[name+"_farm"] = object("Farm of profile "+name, *farms.Create, *farms.Update)
		objects[name+"_backend"] = object("Backend in a farm of profile "+name, *backends.Create, *backends.Update)
	}
	for _, kind := range AliasKinds() {
		objects[kind.Name+"_alias"] = object(kind.Title, kind.Create)
	}
	for i := range Sections {
		objects["system_"+Sections[i].Name] = object(Sections[i].Title, Sections[i].Table)
	}
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Objects of Sluice", "$defs": objects}
}

// object returns the schema of an object: the fields for creation, and the fields that only
// changes accept.
func object[T any](title string, tables ...Table[T]) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range tables {
		t := &tables[i]
		for at := range t.fields {
			f := &t.fields[at]
			if properties[f.name] != nil {
				continue
			}
			one := t.schema(f)
			one["x-order"] = len(properties)
			if other := 1 - i; len(tables) == 2 && tables[other].find(f.name) == nil {
				one["x-when"] = [...]string{"create", "update"}[i]
			}
			properties[f.name] = one
			if f.required && f.waived == nil {
				required = append(required, f.name)
			}
		}
		for at := range t.facts {
			fact := t.schema(&t.facts[at])
			fact["readOnly"] = true
			properties[t.facts[at].name] = fact
		}
	}
	return map[string]any{"title": title, "type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// schema returns the schema of one field.
func (t *Table[T]) schema(f *field[T]) map[string]any {
	out := f.schema()
	out["title"], out["description"] = f.label, t.description(f)
	out["x-group"], out["x-advanced"], out["x-cost"] = string(f.section), f.advanced, f.cost
	if f.unit != "" {
		out["x-unit"] = f.unit
	}
	if v := f.byDefault(); f.sendable(v) && (f.kind == kindBool || !v.isNothing()) {
		out["default"] = f.plain(v)
	}
	if f.only != nil {
		out["x-only"] = f.only.schema(t.conditions(f.only))
	}
	return out
}

// schema returns the condition for forms: one of the fields of the object (or its farm) has
// one of the values, or is set. "or" holds an alternative, "and" a further condition.
func (o *only) schema(text string) map[string]any {
	out := map[string]any{"fields": o.fields, "refused": o.early.rejects()}
	if text != "" {
		out["text"] = text
	}
	if o.in != "" {
		out["of"] = o.in
	}
	if o.values != nil {
		out["values"] = o.values
	}
	if o.or != nil {
		out["or"] = o.or.schema("")
	}
	if o.and != nil {
		out["and"] = o.and.schema("")
	}
	return out
}

// schema returns the schema of a rule in its plain form. Digits for numbers, words for
// booleans and a text for a list are accepted too.
func (r *rule) schema() map[string]any {
	out := map[string]any{}
	switch r.kind {
	case kindNumber:
		out["type"] = "integer"
		if r.values == nil {
			out["minimum"] = r.min
			if r.max != maxUnbounded {
				out["maximum"] = r.max
			}
		}
	case kindBool:
		out["type"], out["enum"] = []string{"boolean", "string"}, []any{true, false, "true", "false"}
		return out
	case kindList:
		item := map[string]any{"type": "string", "maxLength": r.longest()}
		if r.values != nil {
			item["enum"] = r.values
		}
		out["type"], out["items"], out["maxItems"], out["uniqueItems"] = "array", item, r.max, true
	default:
		out["type"] = "string"
		if r.max != 0 { // may also be sent as a number
			out["type"] = []string{"string", "integer"}
		}
		out["maxLength"] = r.longest()
	}
	if r.format != "" {
		out["x-format"] = r.format
	}
	if r.values != nil && r.kind != kindList {
		if r.others == nil {
			out["enum"] = r.enumerated()
		}
		if len(r.normalize) > 0 || r.others != nil {
			out["x-values"] = r.values
		}
	}
	if r.null || r.blank {
		out["type"] = append(typesOf(out["type"]), "null")
	}
	return out
}

func typesOf(kind any) []string {
	if one, is := kind.(string); is {
		return []string{one}
	}
	return kind.([]string)
}

// enumerated returns the valid values and their alternative spellings.
func (r *rule) enumerated() (out []any) {
	words := slices.Clone(r.values)
	for _, word := range slices.Sorted(maps.Keys(r.normalize)) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, word := range words {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && r.kind == kindNumber {
			out = append(out, n)
		} else {
			out = append(out, word)
		}
	}
	if r.null || r.blank {
		out = append(out, nil)
	}
	return out
}

// plain returns a value in schema notation.
func (r *rule) plain(v Value) any {
	if v.kind == kindBool {
		return v.truth
	}
	return v.Any()
}
