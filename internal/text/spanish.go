package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/spanish"
	"golang.org/x/text/unicode/norm"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

// English and Spanish share their letters, so a text tells that it is Spanish by the little words and letters that
// English does not have. Every text gives English stems, whatever it is; a Spanish one gives the Spanish stems beside
// them. So a query without little words (casa, montañas) meets texts of both languages, names and shared words meet
// everywhere, inflected forms meet within Spanish, and no English text with a little word has other terms than it would
// have without Spanish. What a lone verb without accents misses is its inflected forms (hablar alone does not find habló).

// language is how the words in Latin letters of a text are taken.
type language uint8

const (
	languageEnglish      language = iota // or one that nothing tells
	languageMaybeSpanish                 // it has one sign of Spanish, and none of English
	languageSpanish
)

// Words that are common in one of the two and do not exist, or are rare, in the other: no, me, he, has and son are in
// neither list.
//
//nolint:misspell // Spanish
const (
	englishSigns = `the and of to is was were with for you i it my your his her they we this that these those what how when
who which where why did does do are have had in on at by from be been will would can could if but not am an she our
their them us so just about`
	spanishSigns = `el la los las un una unos unas de del al y en que qué por para con se su sus mi mis tu tus lo le les nos
es está están estoy fue eran como cómo más muy pero cuando cuándo donde dónde quién cuál cuánto este esta esto
ese esa eso hay ya yo él ella ellos nosotros también porque desde hasta entre sobre si sí ser estar tengo tiene hace
ayer hoy siempre nunca te todo todos toda nada bien gracias casi ahora mucho mucha otro otra algo cada fui fueron vamos voy
quiero quieres puedo puedes creo dijo dije tan aunque mientras tienes estaba había vez años
sin ni usted ustedes hacia durante mía mío nuestro nuestra quien cual dos tres cuatro cinco seis siete ocho nueve diez hoy`
)

// The Spanish stop list, chosen like the English one: what names nothing, question words and auxiliaries.
//
//nolint:misspell // Spanish
const spanishStopWords = `el la los las un una unos unas lo al del de a ante con contra desde en entre hacia hasta para por
según sin sobre tras y e o u ni que qué si sí no pero sino aunque porque pues como cómo cuando cuándo cual cuál cuales
cuáles quien quién quienes quiénes donde dónde adónde cuanto cuánto cuanta cuánta cuantos cuántos cuantas cuántas yo tú
tu él ella ello usted nosotros nosotras vosotros vosotras ellos ellas ustedes me te se nos os le les mi mis mí tus su sus
nuestro nuestra nuestros nuestras vuestro vuestra suyo suya mío mía tuyo tuya este esta esto estos estas ese esa eso esos
esas aquel aquella aquello aquellos aquellas es son soy eres somos era eran fue fueron sea ser sido siendo está están
estoy estás estamos estaba estaban estar estado estuvo he has ha hemos han había habían haber hay hubo habrá ya muy más
menos tan tanto también tampoco así aquí ahí allí entonces luego después antes durante mientras todo toda todos todas
cada otro otra otros otras mismo misma algún alguno alguna algunos algunas algo alguien nada nadie ningún ninguno ninguna
cualquier mucho mucha muchos muchas poco poca pocos pocas tener tengo tiene tienes tenía tenían tuvo hacer hace
hago haces hizo hacía poder puede puedo puedes podía ir va voy vas van vamos iba tipo clase`

var (
	signOf         = signTable(englishSigns, spanishSigns)
	spanishStopSet = withBareForms(spanishStopWords)
)

func signTable(english, spanish string) map[string]language {
	table := map[string]language{}
	for w := range strings.FieldsSeq(english) {
		table[w] = languageEnglish
	}
	for w := range strings.FieldsSeq(spanish) {
		table[w] = languageSpanish
	}
	return table
}

// withBareForms holds a list's words and what they are without accents; té, tea, is not te.
func withBareForms(list string) map[string]struct{} {
	set := wordSet(list)
	for w := range strings.FieldsSeq(list) {
		set[foldAccents(w)] = struct{}{}
	}
	return set
}

func spanishStopped(w string) bool {
	_, ok := spanishStopSet[w]
	return ok
}

// enoughSigns is how far one language must lead for the rest of a text not to be looked at.
const enoughSigns = 3

// signs counts what tells one language from the other.
type signs struct{ english, spanish int }

func (n signs) enough() bool {
	return n.english >= n.spanish+enoughSigns || n.spanish >= n.english+enoughSigns
}

// fewestSigns make a text Spanish: one alone may be a name or a loan (Los Angeles, soy, José).
const fewestSigns = 2

func (n signs) language() language {
	switch {
	case n.spanish >= fewestSigns && n.spanish > n.english:
		return languageSpanish
	case n.spanish > n.english:
		return languageMaybeSpanish
	}
	return languageEnglish
}

// IsSpanish reports whether a text in Latin letters has more signs of Spanish than of English.
func IsSpanish(s string) bool { return languageOf(s) != languageEnglish }

// languageOf reads a text until its signs suffice. The same text in another normal form gives the same answer.
func languageOf(s string) language {
	var n signs
	for i := 0; i < len(s) && !n.enough(); {
		if width := separator(s[i:]); width > 0 {
			i += width
			continue
		}
		end, ascii := pieceEnd(s, i)
		if ascii {
			n.countASCII(s[i:end])
		} else {
			n.countAll(s[i:end])
		}
		i = end
	}
	return n.language()
}

// separator is how many bytes of s are a separator that no normal form makes a letter of: ASCII, or the spaces, dashes
// and quotes from U+2000 to U+203F. 0 is none.
func separator(s string) int {
	switch {
	case s[0] < utf8.RuneSelf && !asciiWord(s[0]):
		return 1
	case strings.HasPrefix(s, "\xe2\x80") && len(s) > 2:
		return 3
	}
	return 0
}

// pieceEnd is where the next separator stands, and whether all before it is ASCII.
func pieceEnd(s string, i int) (end int, ascii bool) {
	for ascii = true; i < len(s) && separator(s[i:]) == 0; i++ {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	return i, ascii
}

// countAll reads a piece that is not all ASCII.
func (n *signs) countAll(s string) {
	if !norm.NFKC.IsNormalString(s) {
		s = norm.NFKC.String(s)
	}
	start := -1
	for i, r := range s {
		if latinWord(r) {
			if start < 0 && !unicode.Is(unicode.M, r) { // a mark on a separator begins no word
				start = i
			}
			continue
		}
		if start >= 0 {
			n.count(s[start:i])
			start = -1
		}
		if r == '¿' || r == '¡' {
			n.spanish += 2
		}
		if n.enough() {
			return
		}
	}
	if start >= 0 {
		n.count(s[start:])
	}
}

// latinWord is false for the scripts above U+2000, none of which has words of either language.
func latinWord(r rune) bool {
	return r < 0x2000 && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r))
}

// longestSign is more bytes than any sign has.
const longestSign = 12

// count takes one word, in whatever letters.
func (n *signs) count(w string) {
	if strings.ContainsAny(w, spanishLetters) {
		n.spanish++
		return
	}
	n.countASCII(w)
}

// countASCII takes one word; no sign without accents has other letters.
func (n *signs) countASCII(w string) {
	if len(w) > longestSign {
		return
	}
	var buf [longestSign]byte
	for i := range len(w) {
		buf[i] = w[i]
		if w[i] >= 'A' && w[i] <= 'Z' {
			buf[i] += 'a' - 'A'
		}
	}
	switch sign, ok := signOf[string(buf[:len(w)])]; {
	case ok && sign == languageSpanish:
		n.spanish++
	case ok:
		n.english++
	case saysWe(w):
		n.spanish++
	}
}

// saysWe reports whether a word ends like a Spanish verb of the first person plural, as no English one of its length does.
func saysWe(w string) bool {
	const shortest = len("vimos") + 1
	return len(w) >= shortest && (strings.HasSuffix(w, "amos") || strings.HasSuffix(w, "emos") || strings.HasSuffix(w, "imos"))
}

// spanishLetters are those that English words hardly have.
const spanishLetters = "áéíóúñÁÉÍÓÚÑ"

// spanishStem is the stem of a lower-case word, without accents.
func (a *analysis) spanishStem(w string) string {
	if len(w) > MaxTermBytes {
		return a.term(foldAccents(w))
	}
	stem := baseOfSpanish(a.bareSpanishStem(w))
	if base, ok := spanishBases()[stem]; ok {
		return base
	}
	return stem
}

func (a *analysis) bareSpanishStem(w string) string {
	env := a.stemmer(w)
	spanish.Stem(env)
	return foldAccents(env.Current())
}

// baseOfSpanish undoes what spelling does to the end of a stem before e: lápices is lápiz, busqué is buscar; and conozco
// is conocer.
func baseOfSpanish(stem string) string {
	for _, end := range [...][2]string{{"zc", "c"}, {"z", "c"}, {"qu", "c"}} {
		if s, ok := strings.CutSuffix(stem, end[0]); ok && len(s) > 1 {
			return s + end[1]
		}
	}
	return stem
}

// spanishVerbs are those whose stem changes, one for a line of forms: each stem that differs once.
//
//nolint:misspell // Spanish
const spanishVerbs = `pensar pienso;empezar empieza;comenzar comienza;cerrar cierra;despertar despierta;sentar sienta;calentar calienta;
nevar nieva;negar niega;regar riega;temblar tiembla;recomendar recomienda;apretar aprieta;confesar confiesa;gobernar gobierna;
perder pierde;entender entiende;defender defiende;encender enciende;querer quiero quiso querrá;tener tengo tiene tuvo tendrá;
venir vengo viene vino vendrá;mantener mantiene mantuvo;obtener obtiene obtuvo;
contar cuenta;costar cuesta;encontrar encuentra;mostrar muestra;demostrar demuestra;probar prueba;recordar recuerda;
soñar sueña;volar vuela;almorzar almuerza;acostar acuesta;colgar cuelga;rogar ruega;apostar apuesta;renovar renueva;
sonar suena;jugar juega;volver vuelve vuelto;devolver devuelve devuelto;resolver resuelve resuelto;mover mueve;llover llueve;
doler duele;morder muerde;poder puedo pudo podrá;oler huele;soler suele;envolver envuelve envuelto;
sentir siente sintió;mentir miente mintió;preferir prefiere prefirió;sugerir sugiere sugirió;divertir divierte divirtió;
convertir convierte convirtió;herir hiere hirió;invertir invierte invirtió;arrepentir arrepiente arrepintió;hervir hierve hirvió;
dormir duerme durmió;morir muere murió muerto;pedir pide pidió;servir sirve sirvió;repetir repite repitió;seguir sigue siguió sigo;
conseguir consigue consiguió consigo;elegir elige elijo eligió;corregir corrige corrijo corrigió;vestir viste vistió;medir mide midió;
reír ríe rieron;sonreír sonríe sonrió;freír fríe frió frito;despedir despide despidió;competir compite compitió;impedir impide impidió;
hacer hago hizo hará hecho;decir digo dice dijo dirá dicho;poner pongo puso pondrá puesto;componer compongo compuso compuesto;
proponer propongo propuso propuesto;suponer supongo supuso supuesto;traer traigo trajo;caer cae caí caído caigo cayó cayendo;oír oí oído oigo oye oyó oyendo;
salir salgo saldrá;valer valgo valdrá;saber supo sabrá;ver ve vemos vi veía veo vio vieron visto;dar da daba dado doy dio dieron;ir iremos fuimos vamos;
leer lee leo leí leído leyó leyendo;creer cree creo creí creyó creyendo;conducir conduje;traducir traduje;producir produje;reducir reduje;
huir huye;escribir escrito;abrir abierto;cubrir cubierto;descubrir descubierto;
romper roto;coger cojo;recoger recojo;escoger escojo;proteger protejo;dirigir dirijo;exigir exijo;fingir finjo;
caber quepo cupo;andar anduvo;esquiar esquía`

// spanishBases is the stem of the first form of each line by the stems of the others.
var spanishBases = sync.OnceValue(func() map[string]string {
	var a analysis
	stem := func(w string) string { return baseOfSpanish(a.bareSpanishStem(w)) }
	table := map[string]string{}
	for line := range strings.SplitSeq(spanishVerbs, ";") {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			table[stem(f)] = stem(forms[0])
		}
	}
	return table
})

// stemmer is ready to stem w.
func (a *analysis) stemmer(w string) *snowballstem.Env {
	if a.env == nil {
		a.env = snowballstem.NewEnv(w)
	} else {
		a.env.SetCurrent(w)
	}
	return a.env
}

// HasSpanishPerfect reports whether a text says "he" as Spanish does, of what the speaker has done ("he cambiado de banco").
func HasSpanishPerfect(s string) bool { return spanishPerfect.MatchString(s) }

var spanishPerfect = regexp.MustCompile(`(?i)(?:^|[^\p{L}])he (?:vuelto|\p{L}+(?:ado|ido|cho|sto|rto))(?:[^\p{L}]|$)`)
