package rest

import (
	"cmp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// meaning explains a name in responses and paths. A name has the same meaning throughout
// the API.
type meaning struct {
	about   string
	example any
	unit    string
}

// fits reports whether an example has the type of a property.
func fits(p *huma.Schema, example any) bool {
	switch example.(type) {
	case string:
		return p.Type == huma.TypeString && p.Enum == nil
	case int:
		return p.Type == huma.TypeInteger || p.Type == huma.TypeNumber
	case float64:
		return p.Type == huma.TypeNumber
	case bool:
		return p.Type == huma.TypeBoolean
	}
	return false
}

// pathParameter describes a path parameter.
func pathParameter(name string) *huma.Param {
	known := pathWords()[name]
	return &huma.Param{Name: name, In: "path", Required: true, Description: known.about, Example: known.example, Schema: &huma.Schema{Type: huma.TypeString, MinLength: positive(1)}}
}

// queryParameter describes a query parameter.
func queryParameter(q query) *huma.Param {
	s := &huma.Schema{Type: huma.TypeString}
	switch {
	case strings.HasPrefix(q.description, "true "):
		s = &huma.Schema{Type: huma.TypeString, Enum: []any{"true", "false"}, Default: "false"}
	case numericQueries[q.name] && !isTime(q):
		zero := 0.0
		s = &huma.Schema{Type: huma.TypeInteger, Minimum: &zero}
	}
	return &huma.Param{Name: q.name, In: "query", Description: q.description, Schema: s}
}

// isTime reports whether a parameter is a time or an age. A parameter of the same name
// counts revisions elsewhere.
func isTime(q query) bool { return strings.HasPrefix(q.description, "Start: an age") }

var numericQueries = map[string]bool{"limit": true, "offset": true, "before": true, "since": true, "seconds": true, "most": true}

// describeProperties adds the common meaning of its name to every property without its own
// description.
func describeProperties(schemas huma.Registry) {
	words := answerWords()
	for _, s := range schemas.Map() {
		for name, p := range s.Properties {
			known, is := words[name]
			if !is || p.Ref != "" {
				continue
			}
			p.Description = cmp.Or(p.Description, known.about)
			if len(p.Examples) == 0 && fits(p, known.example) {
				p.Examples = []any{known.example}
			}
			if known.unit != "" && (p.Type == huma.TypeInteger || p.Type == huma.TypeNumber) {
				if p.Extensions == nil {
					p.Extensions = map[string]any{}
				}
				p.Extensions["x-unit"] = known.unit
			}
		}
	}
}

func pathWords() map[string]meaning {
	return map[string]meaning{
		"farm":        {about: "Name of the farm", example: "shop"},
		"service":     {about: "Name of the service", example: "web"},
		"backend":     {about: "Number of the backend", example: "0"},
		"rule":        {about: "Number of the rule in its list", example: "0"},
		"session":     {about: "Client identity of the session", example: "192.0.2.7"},
		"certificate": {about: "Name of the certificate, or of the CSR, with its ending", example: "www.example.com.pem"},
		"authority":   {about: "Name of the authority list", example: "clients"},
		"user":        {about: "Name of the user", example: "ann"},
		"group":       {about: "Name of the group", example: "team"},
		"role":        {about: "Name of the role", example: "management"},
		"key":         {about: "Number of the API key", example: "2"},
		"revision":    {about: "Number of the revision", example: "7"},
		"log":         {about: "Name of the log file", example: "shop.log"},
		"lines":       {about: "Number of lines from the end", example: "50"},
		"interface":   {about: "Name of the network interface", example: "eth0"},
		"graph":       {about: "Name of the graph", example: "cpu"},
		"disk":        {about: "Name of the disk, root and its mount point", example: "root"},
		"frequency":   {about: "daily, weekly, monthly or yearly", example: "daily"},
		"start":       {about: "Begin, as MM-DD-YYYY-hh:mm", example: "01-31-2026-00:00"},
		"end":         {about: "End, as MM-DD-YYYY-hh:mm", example: "02-01-2026-00:00"},
	}
}
