package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// owner identifies the owner of backends and sessions: a service or, if service is empty, an
// l4xnat farm.
type owner struct{ farm, service string }

func (o owner) path(more ...string) (string, error) { return client.Path(o.parts(more...)...) }

func (o owner) parts(more ...string) []string {
	out := []string{"farms", o.farm}
	if o.service != "" {
		out = append(out, "services", o.service)
	}
	return append(out, more...)
}

// String returns the command arguments: "shop web", "dns".
func (o owner) String() string { return strings.TrimSpace(o.farm + " " + o.service) }

// parseOwner parses FARM [SERVICE], followed by others more arguments, and returns these. The
// service is required only if the farm has several.
func parseOwner(c *command.Line, ctx context.Context, args []string, others int) (owner, []string, error) {
	if len(args) > 1+others {
		return owner{args[0], args[1]}, args[2:], nil
	}
	o, err := soleOwner(c, ctx, args[0])
	return o, args[1:], err
}

// summary is the part of a farm needed to identify its services.
type summary struct {
	Params   struct{ Profile string }
	Services []struct{ ID string }
}

func (s summary) names() []string {
	var out []string
	for _, v := range s.Services {
		out = append(out, v.ID)
	}
	return out
}

// hasServices reports whether the backends belong to services.
func (s summary) hasServices() bool { return profileCalled(s.Params.Profile).HasServices() }

// profileCalled returns the profile with that name in responses: https is http.
func profileCalled(word string) farm.Profile {
	return profile.Named(farm.Profile(word)).Name()
}

func summaryOf(c *command.Line, ctx context.Context, farm string) (s summary, err error) {
	path, err := client.Path("farms", farm, "summary")
	if err != nil {
		return s, err
	}
	a, err := c.Get(ctx, path)
	if err != nil {
		return s, err
	}
	return s, a.Decode(&s)
}

// soleOwner returns the farm, or its only service.
func soleOwner(c *command.Line, ctx context.Context, farm string) (owner, error) {
	s, err := summaryOf(c, ctx, farm)
	if err != nil {
		return owner{}, err
	}
	return s.sole(farm)
}

func (s summary) sole(farm string) (owner, error) {
	switch names := s.names(); {
	case !s.hasServices():
		return owner{farm: farm}, nil
	case len(names) == 1:
		return owner{farm, names[0]}, nil
	case len(names) == 0:
		return owner{}, command.Usagef("farm %s has no service yet: create one with `sluice service create %s NAME`", farm, farm)
	default:
		return owner{}, command.Usagef("missing service after farm %s, which has %s", farm, strings.Join(names, ", "))
	}
}

// before returns the number of arguments before the first setting.
func before(args []string) int {
	if at := slices.IndexFunc(args, func(a string) bool { return strings.Contains(a, "=") }); at >= 0 {
		return at
	}
	return len(args)
}

// completeOwner completes FARM [SERVICE], then the given kinds, then settings.
func completeOwner(c *command.Line, kinds []command.Argument, s *command.Settings) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return c.Completer(command.OneFarm, nil)(cmd, args, toComplete)
		}
		ctx, cancel := context.WithTimeout(context.Background(), command.CompletionTimeout)
		defer cancel()
		of, err := summaryOf(c, ctx, args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		o, rest := owner{farm: args[0]}, args[1:]
		if of.hasServices() {
			if len(rest) == 0 {
				return of.names(), cobra.ShellCompDirectiveNoFileComp
			}
			o.service, rest = rest[0], rest[1:]
		}
		switch {
		case len(rest) < len(kinds) && kinds[len(rest)] == command.BackendID:
			return backendIDs(c, ctx, o), cobra.ShellCompDirectiveNoFileComp
		case len(rest) >= len(kinds) && s != nil:
			return s.Complete(toComplete)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func backendIDs(c *command.Line, ctx context.Context, o owner) []string {
	list, _, err := backendsOf(c, ctx, o)
	if err != nil {
		return nil
	}
	var out []string
	for _, b := range list {
		out = append(out, fmt.Sprintf("%d\t%s", b.ID, b.address()))
	}
	return out
}
