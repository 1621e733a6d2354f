package firewall

import "encoding/json"

// packet is the operand of nft conditions: a Listener or a farmPacket.
type packet interface {
	match(op string, left, right any) fit
}

// nftStepper returns the stepper of an nft rule.
func nftStepper(expr []map[string]json.RawMessage) stepper {
	rule := statements(expr)
	return func(to Listener) []step {
		here := always
		for _, s := range rule {
			for name, value := range s {
				f, steps := statement(name, value, to, here)
				if here = min(here, f); here == never || steps != nil {
					return steps
				}
			}
		}
		return nil
	}
}

// statement evaluates one statement: a condition (fit) or a verdict (steps).
func statement(name string, value any, p packet, here fit) (fit, []step) {
	switch name {
	case "counter", "log", "mangle", "notrack":
		return always, nil
	case "match":
		m, _ := value.(map[string]any)
		op, _ := m["op"].(string)
		return p.match(op, m["left"], m["right"]), nil
	case "limit", "quota", "ct count", "set", "meter", "map":
		return perhaps, nil
	case "vmap":
		return always, verdicts(value, p, here)
	}
	return always, []step{verdictOf(name, value, here)}
}

func verdictOf(name string, value any, here fit) step {
	s := step{fit: here}
	switch name {
	case "accept":
		s.fate = accept
	case "drop", "reject":
		s.fate = drop
	case "return":
		s.fate = giveBack
	case "jump", "goto":
		s.fate = jump
		if name == "goto" {
			s.fate = gotoChain
		}
		m, _ := value.(map[string]any)
		s.target, _ = m["target"].(string)
	}
	return s
}

// verdicts returns the verdicts of a verdict map that may apply to the packet.
func verdicts(value any, p packet, here fit) []step {
	m, _ := value.(map[string]any)
	data, _ := m["data"].(map[string]any)
	list, inline := data["set"].([]any)
	if !inline {
		return []step{{fit: here}} // named map: contents unknown
	}
	steps := []step{}
	for _, e := range list {
		pair, _ := e.([]any)
		if len(pair) != 2 {
			return []step{{fit: here}}
		}
		f := p.match("==", m["key"], pair[0])
		v, _ := pair[1].(map[string]any)
		for name, value := range v {
			if f != never {
				steps = append(steps, verdictOf(name, value, min(here, f)))
			}
		}
		if f == always {
			break
		}
	}
	return steps
}
