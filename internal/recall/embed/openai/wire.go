package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// request is the body of a call.
type request struct {
	Input          []string `json:"input"`
	Model          string   `json:"model"`
	EncodingFormat encoding `json:"encoding_format,omitempty"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// encoding is the form in which vectors are asked for. A reply may have either form, whatever was asked for: many servers
// do not know the parameter.
type encoding string

const (
	encodedBase64 encoding = "base64" // the bytes of float32, little-endian: exact, and a quarter of the numbers' length
	encodedPlain  encoding = ""       // the server's default, which is numbers
)

// reply is what is read of the body of an answer.
type reply struct {
	Data  []embedding `json:"data"`
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
	} `json:"usage"`
}

type embedding struct {
	Index  int    `json:"index"`
	Vector vector `json:"embedding"`
}

// vector is read from either form. Its numbers need not be finite.
type vector []float32

// errBase64 says that a string holds no vector. It quotes none of it.
var errBase64 = errors.New("endpoint answered a string that is not a vector in base64")

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(value []byte) error {
	if value[0] == '"' {
		return v.readBase64(value)
	}
	if v.readNumbers(value) {
		return nil
	}
	return json.Unmarshal(value, (*[]float32)(v)) // which has an error for each thing that can be wrong
}

func (v *vector) readBase64(literal []byte) error {
	text := literal[1 : len(literal)-1]
	if bytes.IndexByte(text, '\\') >= 0 { // some servers write / as \/
		var unescaped string
		if err := json.Unmarshal(literal, &unescaped); err != nil {
			return err
		}
		text = []byte(unescaped)
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(raw, text)
	if err != nil || n%bytesPerNumber != 0 {
		return errBase64
	}
	*v = make(vector, n/bytesPerNumber)
	_, err = binary.Decode(raw[:n], binary.LittleEndian, []float32(*v))
	return err
}

const bytesPerNumber = 4

// readNumbers reads an array of numbers as encoding/json does, without its reflection for each. It reports whether value is one, and
// all of its numbers fit into float32.
func (v *vector) readNumbers(value []byte) bool {
	if value[0] != '[' {
		return false
	}
	rest := value[1 : len(value)-1]
	numbers := make(vector, 0, bytes.Count(rest, []byte{','})+1)
	for more := true; more; {
		var number []byte
		number, rest, more = bytes.Cut(rest, []byte{','})
		n, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil {
			return false
		}
		numbers = append(numbers, float32(n))
	}
	*v = numbers
	return true
}

// ordered returns the vectors in the order of the texts, which the API does not promise. Servers that leave all indexes at 0
// send them in order.
func ordered(data []embedding, texts int) ([][]float32, error) {
	if len(data) != texts {
		return nil, fmt.Errorf("endpoint answered %d vectors for %d texts", len(data), texts)
	}
	slices.SortStableFunc(data, func(a, b embedding) int { return cmp.Compare(a.Index, b.Index) })
	numbered := data[texts-1].Index != 0
	vectors := make([][]float32, texts)
	for i, d := range data {
		if numbered && d.Index != i {
			return nil, fmt.Errorf("endpoint answered a vector of index %d in the place of %d", d.Index, i)
		}
		vectors[i] = d.Vector
	}
	return vectors, nil
}
