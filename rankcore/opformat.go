package rankcore

import "time"

// AppendMessage appends the log message that carries ops.
func AppendMessage(dst []byte, b *Board, ops []Op) []byte {
	dst = append(dst, `{"v":1,"ops":[`...)
	for i := range ops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOp(dst, b, &ops[i])
	}
	return append(dst, "]}"...)
}

func appendOp(dst []byte, b *Board, op *Op) []byte {
	dst = append(dst, '{')
	if op.ID != "" {
		dst = append(dst, `"id":`...)
		dst = append(AppendJSONString(dst, op.ID), ',')
	}
	dst = append(dst, `"user":`...)
	dst = AppendJSONString(dst, string(op.User))
	dst = append(append(append(dst, `,"`...), op.Kind.String()...), `":`...)
	if op.Kind.HasValue() {
		dst = AppendJSONScore(dst, op.Value, b.Scale)
	} else {
		dst = append(dst, "true"...)
	}
	if !op.At.IsZero() {
		dst = append(dst, `,"at":"`...)
		dst = append(op.At.UTC().AppendFormat(dst, time.RFC3339Nano), '"')
	}
	return append(dst, '}')
}

// AppendMark appends the log message of a mark.
func AppendMark(dst []byte, m Message) []byte {
	dst = append(dst, `{"v":1,"mark":`...)
	dst = AppendJSONString(dst, nameOf(marks, m.Mark))
	if m.Mark == MarkProbe {
		dst = AppendJSONString(append(dst, `,"nonce":`...), m.Nonce)
	}
	if m.Mark == MarkLost {
		dst = AppendJSONString(append(dst, `,"gone":`...), m.Gone.String())
	}
	return append(dst, '}')
}

// AppendJSONScore appends a score as JSON has it: an integer, or on a board with a scale a string.
func AppendJSONScore(dst []byte, s Score, scale int) []byte {
	if scale == 0 {
		return AppendScore(dst, s, 0)
	}
	return append(AppendScore(append(dst, '"'), s, scale), '"')
}

// AppendJSONString appends s, which is valid UTF-8, as a JSON string.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		if c < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
		start = i + 1
	}
	return append(append(dst, s[start:]...), '"')
}
