package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// ruleKind is a kind of rule in the command line.
type ruleKind struct {
	farm, service string // names of its list at either level; farm may be empty
	moves         bool
	params        []field.Param
}

func kindOf[T comparable](l *httpfarm.RuleList[T]) ruleKind {
	return ruleKind{l.Farm, l.Service, l.Moves, l.Rule.Params()}
}

// at returns the name of the list in a farm, or in the service if given.
func (k ruleKind) at(service string) string {
	if service == "" {
		return k.farm
	}
	return k.service
}

// path returns the path of the list of a farm or service.
func (k ruleKind) path(farm, service string, more ...string) (string, error) {
	parts := []string{"farms", farm}
	if service != "" {
		parts = append(parts, "services", service)
	}
	return client.Path(append(append(parts, k.at(service)), more...)...)
}

// read converts arguments to a body. Arguments other than NAME=VALUE are the values of the
// remaining fields, in table order.
func (k ruleKind) read(args []string) (map[string]any, error) {
	out := map[string]any{}
	var plain []string
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		switch _, twice := out[name]; {
		case !found || !slices.ContainsFunc(k.params, func(p field.Param) bool { return p.Name == name }):
			plain = append(plain, arg)
		case twice:
			return nil, command.Usagef("%s is given twice", name)
		default:
			out[name] = value
		}
	}
	for _, p := range k.params {
		if _, given := out[p.Name]; !given && len(plain) > 0 {
			out[p.Name], plain = plain[0], plain[1:]
		}
	}
	if len(plain) > 0 {
		return nil, command.Usagef("unexpected value %q: a rule of this kind has %s", plain[0], k.fields())
	}
	return out, nil
}

func (k ruleKind) fields() string {
	var out []string
	for _, p := range k.params {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// addRule adds a rule.
func addRule(c *command.Line, cmd *cobra.Command, k ruleKind, farm, service string, args []string) error {
	fields, err := k.read(args)
	if err != nil {
		return err
	}
	path, err := k.path(farm, service)
	if err != nil {
		return err
	}
	a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
	return c.Finish(cmd, a, err)
}

func setRule(c *command.Line, cmd *cobra.Command, k ruleKind, farm, service, id string, args []string) error {
	fields, err := k.read(args)
	if err != nil {
		return err
	}
	path, err := k.path(farm, service, id)
	if err != nil {
		return err
	}
	return changeRule(c, cmd, http.MethodPut, path, fields)
}

func deleteRule(c *command.Line, cmd *cobra.Command, k ruleKind, farm, service, id string) error {
	path, err := k.path(farm, service, id)
	if err != nil {
		return err
	}
	return changeRule(c, cmd, http.MethodDelete, path, nil)
}

func moveRule(c *command.Line, cmd *cobra.Command, k ruleKind, farm, service, id, position string) error {
	path, err := k.path(farm, service, id, "actions")
	if err != nil {
		return err
	}
	return changeRule(c, cmd, http.MethodPost, path, map[string]any{"position": position})
}

const ifRevision = "if-revision"

// ofRevision adds the flag of commands that name a rule by its position.
func ofRevision(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().String(ifRevision, "", "only if the farm has not changed since this revision, which list --json shows")
	return cmd
}

// changeRule changes the rule at a position, if the farm is as the caller knows it.
func changeRule(c *command.Line, cmd *cobra.Command, method, path string, fields map[string]any) error {
	r := client.Request{Method: method, Path: path}
	if f := cmd.Flags().Lookup(ifRevision); f.Changed {
		revision, err := strconv.ParseUint(f.Value.String(), 10, 63)
		if err != nil {
			return command.Usagef("--%s: %q is no revision number", ifRevision, f.Value.String())
		}
		r.IfMatch = fmt.Sprintf(`"%d."`, revision) // of the farm, not of the whole configuration
	}
	if fields != nil {
		body, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		r.Body = body
	}
	a, err := c.Do(cmd.Context(), r)
	return c.Finish(cmd, a, err)
}

// ruleLists returns the lists of a farm or service by name, and their revision.
func ruleLists(c *command.Line, cmd *cobra.Command, kinds []ruleKind, farm,
	service string) (map[string]json.RawMessage, uint64, error) {
	parts := []string{"farms", farm}
	if service != "" {
		parts = append(parts, "services", service)
	}
	path, err := client.Path(parts...)
	if err != nil {
		return nil, 0, err
	}
	a, err := c.Get(cmd.Context(), path)
	if err != nil {
		return nil, 0, err
	}
	var owner map[string]json.RawMessage
	if service == "" {
		var body struct{ Params map[string]json.RawMessage }
		err, owner = a.Decode(&body), body.Params
	} else {
		var body struct{ Services map[string]json.RawMessage }
		err, owner = a.Decode(&body), body.Services
	}
	if err != nil {
		return nil, 0, err
	}
	out := map[string]json.RawMessage{}
	for _, k := range kinds {
		if list, ok := owner[k.at(service)]; ok {
			out[k.at(service)] = list
		}
	}
	return out, revisionOf(a), nil
}

// revisionOf returns the revision of a response, 0 if it has none.
func revisionOf(a client.Response) uint64 {
	number, _, _ := strings.Cut(strings.Trim(a.Header.Get("ETag"), `"`), ".")
	revision, _ := strconv.ParseUint(number, 10, 64)
	return revision
}

// aRule is a rule of any kind.
type aRule struct {
	ID                                    int
	Header, Pattern, Match, Replace, Last string
}

// printRules lists rules of several kinds; cells returns the cells after the kind.
func printRules(c *command.Line, cmd *cobra.Command, kinds []ruleKind, farm, service string, s *show.Sheet,
	cells func(kind string, r aRule) []any) error {
	lists, revision, err := ruleLists(c, cmd, kinds, farm, service)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintEnvelope(cmd, command.Envelope{Description: "List the rules", Params: lists, Revision: revision})
	}
	for _, k := range kinds {
		var rules []aRule
		if list, ok := lists[k.at(service)]; ok {
			if err := json.Unmarshal(list, &rules); err != nil {
				return fmt.Errorf("invalid response of the appliance: %w", err)
			}
		}
		for _, r := range rules {
			s.Add(cells(k.at(service), r)...)
		}
	}
	return c.Print(cmd, s)
}
