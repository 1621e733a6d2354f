package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Argument is a kind of argument that names an object of the appliance.
type Argument int

const (
	FarmName Argument = iota
	ServiceName
	BackendID
	UserName
	GroupName
	RoleName
	BackupName
	RevisionNumber
	TagName
	KeyID
	LoginID
	AliasID
	CheckName
	WebhookName
	CertificateName
	AuthorityName
	FreeText // free text
)

// lists are the sources of names that are not in /ids: path, name field, and description
// field.
var lists = map[Argument][]struct{ path, name, about string }{
	UserName:       {{"/rbac/users", "name", "group"}},
	GroupName:      {{"/rbac/groups", "name", "role"}},
	RoleName:       {{"/rbac/roles", "name", ""}},
	BackupName:     {{"/system/backup", "name", "date"}},
	RevisionNumber: {{"/history/tags", "name", "comment"}, {"/history", "number", "comment"}},
	TagName:        {{"/history/tags", "name", "comment"}},
	KeyID:          {{"/keys", "id", "comment"}},
	LoginID:        {{"/rbac/sessions", "session", "user"}},
	CheckName:      {{HealthChecks, "name", "description"}},
	WebhookName:    {{Webhooks, "name", "url"}},

	CertificateName: {{"/certificates", "file", "status"}},
	AuthorityName:   {{"/certificates/ca", "name", "status"}},
	AliasID:         {{"/aliases/backends", "id", "alias"}, {"/aliases/interfaces", "id", "alias"}},
}

// CompletionTimeout bounds a completion's requests.
const CompletionTimeout = 2 * time.Second

// Completer completes arguments that name objects, then settings. Without an appliance it
// offers nothing.
func (c *Line) Completer(kinds []Argument, s *Settings) cobra.CompletionFunc {
	if s != nil {
		s.lookUp = c.namesNow
	}
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(kinds) {
			if s != nil {
				return s.Complete(toComplete)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), CompletionTimeout)
		defer cancel()
		return c.namesOf(ctx, kinds[len(args)], args), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesNow returns the names of a kind within completionTime.
func (c *Line) namesNow(kind Argument) []string {
	ctx, cancel := context.WithTimeout(context.Background(), CompletionTimeout)
	defer cancel()
	return c.namesOf(ctx, kind, nil)
}

func (c *Line) namesOf(ctx context.Context, kind Argument, args []string) (out []string) {
	switch kind {
	case FarmName:
		return slices.Sorted(maps.Keys(c.IDs(ctx).Farms))
	case ServiceName:
		return c.IDs(ctx).Farms[args[len(args)-1]].services() // its farm precedes it
	}
	for _, of := range lists[kind] {
		var body struct{ Params []map[string]any }
		if a, err := c.Get(ctx, of.path); err != nil || a.Decode(&body) != nil {
			continue // the user may lack the permission
		}
		for _, one := range body.Params {
			out = append(out, strings.TrimSuffix(fmt.Sprint(one[of.name])+"\t"+fmt.Sprint(OrBlank(one[of.about])), "\t"))
		}
	}
	return out
}

// ids are the names of all objects, as returned by the appliance for completion.
type ids struct {
	Farms map[string]farmIDs
}

type farmIDs struct {
	Services     map[string]any
	Certificates map[string]any
}

// wholeFarm is the key in /ids for the backends of a farm without services.
const wholeFarm = "default_service"

func (f farmIDs) services() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.Services)),
		func(name string) bool { return name == wholeFarm && len(f.Services) == 1 })
}

// IDs returns all names, or none without an appliance.
func (c *Line) IDs(ctx context.Context) ids {
	var body struct{ Params ids }
	if a, err := c.Get(ctx, "/ids"); err != nil || a.Decode(&body) != nil {
		return ids{}
	}
	return body.Params
}

// OneFarm completes a single farm argument.
var OneFarm = []Argument{FarmName}

const HealthChecks = "/monitoring/fg"

const Webhooks = "/system/notifications/methods/webhooks"

// FetchCompletions requests data for a completion.
func (c *Line) FetchCompletions(cmd *cobra.Command, path string, to any) bool {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
	defer cancel()
	a, err := c.Get(ctx, path)
	return err == nil && a.Decode(to) == nil
}
