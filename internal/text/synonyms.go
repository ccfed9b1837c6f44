package text

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Everyday words that mean the same thing, a group for each meaning: what one says is often asked for by another (papá and
// padre, 여친 and 여자친구, 老婆 and 妻子). Each word of a group gives a term of the group beside its own terms. A word stands
// in one group at most, and only where it hardly ever means anything else. English has a table of near words instead
// (package near).
//
//nolint:misspell // Spanish
const spanishSynonyms = `padre papá papi papito;madre mamá mami mamita;esposo marido cónyuge;novio pareja;bebé nene;niño chaval crío pelao;
abuelo abuelito;hermano hermanito;perro perrito;gato gatito;casa casita hogar;amigo amiguito parcero;
médico doctor;oculista oftalmólogo;dentista odontólogo;psicólogo terapeuta;hospital clínica;operar operación cirugía;medicina medicamento pastilla;
alergia alérgico intoxicar;enfermo enfermedad enfermar;piso apartamento apto departamento depa;coche carro auto automóvil vehículo;moto motocicleta;
autobús bus buseta;bicicleta bici;dinero plata;trabajo empleo puesto chamba curro laburo oficio profesión;sueldo salario paga;empresa compañía;jefe patrón;
teléfono móvil celular;computadora ordenador computador portátil;nevera refrigerador heladera frigorífico nevecón;lavadora lavarropas;
comprar adquirir;precio coste costo;enojar enfadar;empezar comenzar iniciar;terminar acabar finalizar;elegir escoger;reparar arreglar;dañar estropear averiar;
enviar mandar remitir;profesor profe maestro docente;colegio cole escuela;universidad uni facultad;estudiante alumno;asignatura materia;maestría máster posgrado;
clase lección;viaje paseo excursión;hotel hospedaje alojamiento hostal;bonito lindo hermoso precioso;contento feliz alegre;miedo pánico temor;
tarta torta pastel;gafas lentes anteojos;camiseta playera remera;boda matrimonio casamiento casar;cumpleaños cumple;regalo obsequio;
despedir despido echar;renunciar renuncia dimitir;mudar mudanza;alquiler renta arriendo alquilar arrendar;nadar natación;gimnasio gym;película peli;
televisión tele;tienda negocio;pez pescado;preferir favorito preferido;cocinar cocina;conducir manejar;aparcar estacionar;jugo zumo;barato económico`

const koreanSynonyms = `아버지 아빠 부친;어머니 엄마 모친;여자친구 여친;남자친구 남친;남편 신랑;아내 와이프 집사람;아이들 애들 자녀;회사 직장;퇴사 퇴직 사직;연봉 월급 급여 봉급;면접 인터뷰;
고양이 냥이;강아지 멍멍이 댕댕이 반려견;병원 의원 치과;알레르기 알러지;치아 이빨 사랑니;몸무게 체중;비용 금액 경비 예산;가격 가격대;숙소 호텔 펜션;디저트 후식;생일 생신;
결혼 결혼식 예식 혼인;청혼 프로포즈 프러포즈;동영상 영상 비디오 브이로그;휴대폰 핸드폰 스마트폰;노트북 랩탑;구입 구매;등산 산행;달리기 조깅 러닝;자동차 승용차;기차 열차;
동네 지역;부상 부상당;공포 공포증 무서워;식당 음식점 맛집;요리 음식;수업 강의;출산 출산일 예정일;이름 성함;나이 연세;기분 감정;환불 취소;화분 식물;예방접종 백신;동거 같이;배달 시켜;아파트 빌라 원룸 투룸`

// Of Chinese and Japanese characters; a word of one character alone counts only where it is all of a run, for it is a part of many words.
const (
	chineseSynonyms = `妻子 老婆 媳妇 媳婦 太太;丈夫 老公;妈 妈妈 老妈 我妈 母亲 媽媽 母親;爸 爸爸 老爸 我爸 父亲 父親;女儿 闺女 女兒;孩子 小孩 娃娃 宝宝 寶寶;女朋友 女友;男朋友 男友;
领导 老板 上司 領導 老闆;公司 单位 企业;工资 薪水 月薪 薪资 工資;辞职 离职 辭職 離職;升职 晋升 升職;房租 租金;医院 诊所 醫院 診所;医生 大夫 醫生;手术 开刀 动刀 手術;
预产期 生孩子 生娃;结婚 婚礼 結婚 婚禮;旅行 旅游 出游 旅遊;飞机 航班 飛機;火车 高铁 动车 列车;汽车 车子 轿车 汽車;价格 价钱 费用 花费 多少钱 價格 費用;购买 入手 購買;
害怕 恐惧;昵称 小名 外号;手机 电话;电脑 笔记本;影片 电影;歌曲 曲子;饭店 餐厅 餐馆 馆子 飯店 餐廳;早饭 早餐;午饭 午餐;晚饭 晚餐;老师 教师 导师;锻炼 健身 运动;
自行车 单车;星期 礼拜 周一 周二 周三 周四 周五 周六 周日;伤心 难过;开心 高兴 快乐 满意;吵架 争吵 争执 冷战 闹别扭;医嘱 忌口 少吃;毛病 疾病 慢性病;提车 新车;订金 定金 预付;上门 安装;
原因 理由 根源;奖品 抽奖;聚餐 聚会;睡觉 休息;学费 课费;调料 香菜 葱花;编程 写代码 程序;组长 带组`
	japaneseSynonyms = `夫 旦那 主人 亭主;妻 嫁 家内 女房;父 父親 親父;母 母親;祖母 婆;子供 子 息子;仕事 職業 職;会社 職場 勤務先;給料 給与 年収 月給;家 自宅;引越 転居;家賃 賃料;病院 医院;医者 医師;
怪我 負傷;旅行 旅;飛行機 航空機;電車 列車;値段 価格 金額 料金 費用 代金;結婚 挙式 入籍;出産 予定日;妊娠 懐妊;友達 友人 親友;夕食 夕飯 晩飯 晩御飯;朝食 朝飯;昼食 昼飯;席 座席;貯金 預金 資金;
開店 開業 独立;物件 部屋;店 店舗;苗字 名字 姓;習 稽古;買 購入;選 決;怖 恐;嫌 苦手;好 大好;敷金 保証金;署名 判子;荒 手荒;運転 免許;病気 病;検査 健診`
)

// groupMark begins the term of a group, as no other term does.
const groupMark = "="

// groupsOf is the term of each word's group, by the key that keyOf makes of the word.
func groupsOf(list string, keyOf func(word string) string) map[string]string {
	table := map[string]string{}
	for group := range strings.SplitSeq(list, ";") {
		words := strings.Fields(group)
		for _, w := range words {
			if key := keyOf(w); key != "" {
				table[key] = groupMark + words[0]
			}
		}
	}
	return table
}

var spanishGroups = sync.OnceValue(func() map[string]string {
	var a analysis
	return groupsOf(spanishSynonyms, a.spanishStem)
})

// koreanGroups are by roots; a root of one syllable is left out, for it may be of many words.
var koreanGroups = sync.OnceValue(func() map[string]string {
	return groupsOf(koreanSynonyms, func(w string) string {
		var word []char
		for _, r := range w {
			word = append(word, char{r: r})
		}
		root, _ := hangulRoot(word)
		if len(root) < 2 {
			return ""
		}
		var key strings.Builder
		for _, c := range root {
			key.WriteRune(c.r)
		}
		return key.String()
	})
})

var (
	chineseGroups  = sync.OnceValue(func() map[string]string { return groupsOf(chineseSynonyms, wordItself) })
	japaneseGroups = sync.OnceValue(func() map[string]string { return groupsOf(japaneseSynonyms, wordItself) })
)

func wordItself(w string) string { return w }

// groupOf is the term of the group of a word, without copying the word.
func groupOf(groups map[string]string, word []char) (term string, ok bool) {
	var buf [longestHangul * utf8.UTFMax]byte
	key := buf[:0]
	for _, c := range word {
		key = utf8.AppendRune(key, c.r)
	}
	term, ok = groups[string(key)]
	return term, ok
}

// longestHanSynonym is the most characters that a word of the groups has.
const longestHanSynonym = 4

// addHanGroup emits the group of the longest word that ends at a place of a run, with the place of its last two characters.
func (a *analysis) addHanGroup(groups map[string]string, run []char, at int) {
	for n := min(longestHanSynonym, at+1); n > 0; n-- {
		if n == 1 && len(run) > 1 {
			return
		}
		if term, ok := groupOf(groups, run[at+1-n:at+1]); ok {
			a.emit(Token{Term: term, Start: run[max(at-1, 0)].start, End: run[at].end})
			return
		}
	}
}
