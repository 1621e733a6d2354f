package cli

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// headerKinds are the lists of header rules in display order.
var headerKinds = []ruleKind{
	kindOf(&httpfarm.AddRequest), kindOf(&httpfarm.RemoveRequest), kindOf(&httpfarm.ReplaceRequest),
	kindOf(&httpfarm.AddResponse), kindOf(&httpfarm.RemoveResponse), kindOf(&httpfarm.ReplaceResponse),
}

const headerHelp = `KIND is one of

  addrequestheader HEADER
      sets a request header "Name: value" in place of the client's own
  removerequestheader PATTERN
      removes request headers whose line matches the regex
  replacerequestheader HEADER MATCH REPLACE
      in request headers whose name matches HEADER, replaces what MATCH
      finds by REPLACE ($1 to $9 are its groups)

addresponseheader, removeresponseheader and replaceresponseheader are their
counterparts for responses.

Give the values in that order or as NAME=VALUE (header, pattern, match,
replace). Without --service the rules belong to the farm. The names addheader
and headremove of the Zevenet and SKUDONET API are accepted too. Rules of a
service run before those of the farm; if both add a header, the value of the
service is used.

addrequestheader removes the client's own headers of that name, also those that
differ in case or punctuation only (X_Internal). The exception is Cookie, which
is added to the client's. addresponseheader adds a header; the backend's header
of the same name stays unless removeresponseheader removes it.`

// placeHelp explains the risk of naming a rule by its position.
const placeHelp = `

An ID is the position of a rule, which changes if earlier rules are deleted or
moved. At a terminal, set, move and delete therefore show the rule and ask. In
scripts, --if-revision makes sure that nobody changed the farm meanwhile.`

func headerCommand(c *command.Line) *cobra.Command {
	return command.Parent("header", "Manage the header rules of a farm or service", `  sluice header list shop
  sluice header create shop addrequestheader 'X-Forwarded-Proto: https'
  sluice header create shop removeresponseheader '^Server:' --service web
  sluice header move shop replacerequestheader 1 0`,
		headerList(c), headerAdd(c), headerSet(c), headerDelete(c), headerMove(c))
}

// headerKind returns a kind by either of its names.
func headerKind(name string) (ruleKind, error) {
	var known []string
	for _, k := range headerKinds {
		if name == k.service || name == k.farm {
			return k, nil
		}
		known = append(known, k.service)
	}
	return ruleKind{}, command.Usagef("unknown kind %q%s", name, suggest.For(name, known))
}

// onHeaders returns a command about one kind of rule: FARM KIND and more.
func onHeaders(c *command.Line, cmd *cobra.Command, run func(cmd *cobra.Command, k ruleKind, farm,
	service string, args []string) error) *cobra.Command {
	service := serviceFlag(c, cmd)
	cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\n" + headerHelp
	if cmd.Flags().Lookup(ifRevision) != nil {
		cmd.Long += placeHelp
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return c.Completer(command.OneFarm, nil)(cmd, args, toComplete)
		case 1:
			return headerKindNames(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := headerKind(args[1])
		if err != nil {
			return err
		}
		return run(cmd, k, args[0], *service, args[2:])
	}
	return cmd
}

func headerKindNames() []string {
	var out []string
	for _, k := range headerKinds {
		out = append(out, k.service)
	}
	return slices.Sorted(slices.Values(out))
}

// serviceFlag adds --service for a service of the farm.
func serviceFlag(c *command.Line, cmd *cobra.Command) *string {
	service := cmd.Flags().String("service", "", "rules of this service instead of those of the farm")
	cmd.RegisterFlagCompletionFunc("service", func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.Completer(oneService, nil)(cmd, args[:1], toComplete)
	})
	return service
}

func headerList(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list FARM", Short: "List the header rules of a farm, or of one of its services", Args: command.Exactly(1),
		Example: "  sluice header list shop\n  sluice header list shop --service web --json", ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	service := serviceFlag(c, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return printRules(c, cmd, headerKinds, args[0], *service, show.NewSheet("KIND", "ID", "HEADER OR PATTERN", "MATCH", "REPLACE"),
			func(kind string, r aRule) []any {
				return []any{kind, r.ID, cmp.Or(r.Header, r.Pattern), r.Match, r.Replace}
			})
	}
	return cmd
}

func headerAdd(c *command.Line) *cobra.Command {
	return onHeaders(c, &cobra.Command{
		Use: "create FARM KIND VALUE…", Aliases: []string{"add"}, Short: "Add a header rule at the end of its list", Args: command.AtLeast(3),
		Example: "  sluice header create shop addrequestheader 'X-Forwarded-Proto: https'\n  sluice header create shop removerequestheader '^X-Debug'\n" +
			"  sluice header create shop replaceresponseheader '^Set-Cookie$' '$' '; Secure'",
	}, func(cmd *cobra.Command, k ruleKind, farm, service string, args []string) error {
		return addRule(c, cmd, k, farm, service, args)
	})
}

func headerSet(c *command.Line) *cobra.Command {
	return onHeaders(c, ofRevision(&cobra.Command{
		Use: "set FARM KIND ID VALUE…", Short: "Change a header rule", Args: command.AtLeast(4),
		Example: "  sluice header set shop addrequestheader 0 'X-Forwarded-Proto: http'\n  sluice header set shop replacerequestheader 0 replace='$1'",
	}), func(cmd *cobra.Command, k ruleKind, farm, service string, args []string) error {
		return setRule(c, cmd, k, farm, service, args[0], args[1:])
	})
}

func headerDelete(c *command.Line) *cobra.Command {
	return onHeaders(c, ofRevision(&cobra.Command{
		Use: "delete FARM KIND ID", Short: "Delete a header rule; later ones move up", Args: command.Exactly(3),
		Example: "  sluice header delete shop addrequestheader 0\n  sluice header delete shop removeresponseheader 1 --service web",
	}), func(cmd *cobra.Command, k ruleKind, farm, service string, args []string) error {
		return deleteRule(c, cmd, k, farm, service, args[0])
	})
}

func headerMove(c *command.Line) *cobra.Command {
	return onHeaders(c, ofRevision(&cobra.Command{
		Use: "move FARM KIND ID POSITION", Short: "Move a replace rule to another position, from 0", Args: command.Exactly(4),
		Example: "  sluice header move shop replacerequestheader 1 0",
	}), func(cmd *cobra.Command, k ruleKind, farm, service string, args []string) error {
		if !k.moves {
			return command.Usagef("the order of %s rules has no effect: only replace rules can be moved", k.at(service))
		}
		return moveRule(c, cmd, k, farm, service, args[0], args[1])
	})
}
